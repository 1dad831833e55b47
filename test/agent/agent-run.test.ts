import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeFrame, type JobOrder } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { FAST_TIMERS } from './fast-timers.js'
import { sha256Of } from './fake-control-plane.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

describe('running a playbook', () => {
  test('claims once, streams output and events, and ends exactly as ansible did', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const failing = { name: 'fail', command: 'false' }
    const folder = { 'site.yml': play(say('grüße an alle')), 'bad.yml': play(failing) }
    const manifest = publish(controlPlane, folder)
    const good = controlPlane.offer(orderOf(manifest))
    const bad = controlPlane.offer(orderOf(manifest, { playbook: 'bad.yml' }))

    const goodEnd = await exactEnd(controlPlane, good)
    expect(goodEnd).toMatchObject({ cause: 'exited', exit_code: 0, aborted: false })
    expect(goodEnd.text).toContain('grüße an alle')
    expect(goodEnd.text).toContain('\u001b[')
    expect(goodEnd.lines.map((line) => line.type)).toContain('runner_on_ok')
    expect(goodEnd.lines.at(-1)?.type).toBe('playbook_on_stats')
    expect(await exactEnd(controlPlane, bad)).toMatchObject({ cause: 'exited', exit_code: 2 })
    expect(good).toMatchObject({ claims: 1, ends: 1 })
    expect(bad).toMatchObject({ claims: 1, ends: 1 })
  })

  test('an offer said twice is claimed twice and run once; a stored job leaves the spool', async () => {
    const { controlPlane, folder, statePath, join: joinApp } = await createSetting()
    await joinApp()
    const order = orderOf(publish(controlPlane, { 'site.yml': play(waitFor(join(folder, 'go'))) }))
    const job = controlPlane.offer(order)
    await waitUntil('it is claimed', () => job.claims === 1)
    controlPlane.offer(order)
    await waitUntil('it is claimed again', () => job.claims === 2)
    writeFileSync(join(folder, 'go'), '')
    const end = await exactEnd(controlPlane, job)
    expect(end.text.match(/PLAY RECAP/g)).toHaveLength(1)
    await waitUntil('the spool is empty', () => readdirSync(join(statePath, 'spool', 'jobs')).length === 0)
  })

  test('options, variables and what is passed on of the environment reach ansible as they are', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp({
      RTE_JOIN_TOKEN: 'secret-token',
      DATABASE_URL: 'secret',
      NODE_OPTIONS: '--no-warnings',
      MY_OWN: 'kept',
      OTHERS: 'not kept',
      RTE_PASS_ENVIRONMENT: 'MY_*',
    })
    const report = play(
      { debug: { msg: 'var={{ text }} check={{ ansible_check_mode }} tags={{ ansible_run_tags | sort }}' } },
      {
        debug: {
          msg: "env={% for name in ['RTE_JOIN_TOKEN', 'DATABASE_URL', 'NODE_OPTIONS', 'OTHERS', 'MY_OWN'] %}|{{ lookup('env', name) }}{% endfor %}",
        },
        tags: 'always',
      },
    )
    const manifest = publish(controlPlane, {
      'plays/site.yml': report,
      'plays/hosts/all': 'localhost\nother ansible_connection=local\n',
    })
    const job = controlPlane.offer(
      orderOf(manifest, {
        playbook_sub_path: 'plays',
        inventory: ['hosts/all'],
        limit: 'localhost',
        tags: 'all,x::y',
        check: true,
        diff: true,
        verbose: true,
        extravars: { inline: { text: '{{ lookup("pipe", "echo owned") }} $(id)' } },
      }),
    )
    const { text, exit_code } = await exactEnd(controlPlane, job)
    expect(exit_code).toBe(0)
    expect(text).toContain("check=True tags=['all', 'x::y']")
    expect(text).toContain('var={{ lookup(\\"pipe\\", \\"echo owned\\") }} $(id)')
    expect(text).toContain('env=|||||kept')
    expect(text).toContain('ansible-playbook [core')
  })

  test('callbacks that the user enabled stay enabled beside ours', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const callback =
      'from ansible.plugins.callback import CallbackBase\n\n\nclass CallbackModule(CallbackBase):\n' +
      "    CALLBACK_VERSION = 2.0\n    CALLBACK_TYPE = 'notification'\n    CALLBACK_NAME = 'mine'\n    CALLBACK_NEEDS_ENABLED = True\n\n" +
      "    def v2_playbook_on_stats(self, stats):\n        self._display.display('my own callback was here')\n"
    const manifest = publish(controlPlane, {
      'site.yml': play(say('hello')),
      'ansible.cfg': '[defaults]\ncallback_plugins = plugins ; here\ncallbacks_enabled = mine\n',
      'plugins/mine.py': callback,
    })
    const end = await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))
    expect(end.text).toContain('my own callback was here')
    expect(end.events.plugin_seen).toBe(true)
  })

  test('with local files the playbook runs in the folder of the runner and no file is asked for', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    const own = join(folder, 'own')
    mkdirSync(own)
    writeFileSync(join(own, 'site.yml'), play({ debug: { msg: "in {{ lookup('env', 'PWD') }}" } }))
    await joinApp({ RTE_FILES: 'local', ANSIBLE_PATH: own })
    const end = await exactEnd(controlPlane, controlPlane.offer(orderOf('0'.repeat(64))))
    expect(end.text).toContain(`in ${own}`)
    expect(controlPlane.wanted).toEqual([])
  })
})

describe('files', () => {
  test('a change of one file costs one file; modes and links are as in the manifest', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const list = { name: 'list', command: 'ls -lR', args: {} }
    const folder = {
      'site.yml': play(list, { name: 'run', command: './tools/run.sh' }),
      'tools/run.sh': '#!/bin/sh\necho it runs\n',
      'big.bin': 'x'.repeat(700_000),
    }
    const links = [{ path: 'tools/link.yml', target: '../site.yml' }]
    const first = publish(controlPlane, folder, { links })
    const end = await exactEnd(
      controlPlane,
      controlPlane.offer(orderOf(first, { playbook: 'tools/link.yml', verbose: true, inventory: ['localhost,'] })),
    )
    expect(end.cause).toBe('exited')
    expect(new Set(controlPlane.wanted).size).toBe(4)
    expect(controlPlane.wanted).toHaveLength(4)

    controlPlane.wanted.length = 0
    const changed = { ...folder, 'tools/run.sh': '#!/bin/sh\necho it runs changed\n' }
    const second = publish(controlPlane, changed, { links })
    const again = await exactEnd(controlPlane, controlPlane.offer(orderOf(second, { verbose: true })))
    expect(again.exit_code).toBe(0)
    expect(again.text).toContain('it runs changed')
    expect(again.text).toContain('-rwxr-xr-x')
    expect(again.text).toContain('link.yml -> ../site.yml')
    expect(controlPlane.wanted).toEqual([second, sha256Of(Buffer.from(changed['tools/run.sh']))])
  })

  test('large extra variables come as a blob and are not kept in the cache', async () => {
    const { controlPlane, statePath, join: joinApp } = await createSetting()
    await joinApp()
    const manifest = publish(controlPlane, { 'site.yml': play({ debug: { msg: 'length {{ long | length }}' } }) })
    const text = JSON.stringify({ long: 'y'.repeat(600_000) })
    const sha256 = controlPlane.addBlob(text)
    const job = controlPlane.offer(orderOf(manifest, { extravars: { sha256, size: text.length } }))
    expect((await exactEnd(controlPlane, job)).text).toContain('length 600000')
    expect(existsSync(join(statePath, 'cache', 'blobs', sha256.slice(0, 2), sha256))).toBe(false)
  })

  test('a torn file in the cache is noticed at the next start and asked for again', async () => {
    const { controlPlane, statePath, join: joinApp } = await createSetting()
    const agent = await joinApp()
    const site = play(say('whole'))
    const manifest = publish(controlPlane, { 'site.yml': site })
    await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))
    await agent.kill()
    const sha256 = sha256Of(Buffer.from(site))
    writeFileSync(join(statePath, 'cache', 'blobs', sha256.slice(0, 2), sha256), site.replace('whole', 'torn!'))
    controlPlane.wanted.length = 0
    await waitUntil('the socket is closed', () => controlPlane.connected === null)
    await joinApp()
    expect((await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))).text).toContain('whole')
    expect(controlPlane.wanted).toEqual([sha256])
  })

  test('a cache that somebody has changed or emptied meanwhile is filled again', async () => {
    const { controlPlane, statePath, join: joinApp } = await createSetting()
    await joinApp()
    const site = play(say('hello'))
    const manifest = publish(controlPlane, { 'site.yml': site })
    await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))
    const blobs = join(statePath, 'cache', 'blobs')
    const sha256 = sha256Of(Buffer.from(site))
    writeFileSync(join(blobs, sha256.slice(0, 2), sha256), site.replace('hello', 'other'))
    expect((await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))).text).toContain('hello')
    for (const shard of readdirSync(blobs)) rmSync(join(blobs, shard), { recursive: true })
    expect((await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)))).text).toContain('hello')
  })

  test('a full cache loses no file of a job that still waits for others of its files', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp({ RTE_CACHE_MB: '1' })
    const folder = (name: string) => ({
      'site.yml': play(say(name)),
      shared: 'both jobs have it',
      [`${name}.bin`]: name.repeat(100_000),
    })
    const late = Buffer.from('it comes late')
    const waiting = publish(controlPlane, { ...folder('waiting'), late: late.toString() })
    controlPlane.late.add(sha256Of(late))
    const first = controlPlane.offer(orderOf(waiting))
    await waitUntil('its files were asked for', () => controlPlane.wanted.includes(sha256Of(late)))
    // The files of the second job are more than the cache may keep.
    await exactEnd(controlPlane, controlPlane.offer(orderOf(publish(controlPlane, folder('another')))))
    const asked = controlPlane.wanted.length
    controlPlane.connected?.send(
      encodeFrame({ kind: 'blob', sha256: sha256Of(late), offset: 0, size: late.length, payload: late }),
    )
    expect(await exactEnd(controlPlane, first)).toMatchObject({ exit_code: 0 })
    expect(controlPlane.wanted).toHaveLength(asked)
    expect(first.refusals).toEqual([])
  })

  test('a list of files that leads out of its folder is refused, and the next job is none the worse', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    await joinApp()
    const file = { sha256: 'a'.repeat(64), size: 1, mode: 0o644 }
    const chain = [
      { path: 'top', target: 'site' },
      { path: 'site/deep/up', target: '../../top' },
      { path: 'site/deep/evil', target: 'up/../../..' },
    ]
    const cases = [
      { change: { files: [{ ...file, path: '../evil' }] }, message: 'unsafe path "../evil"' },
      { change: { files: [{ ...file, path: '/evil' }] }, message: 'unsafe path "/evil"' },
      { change: { links: [{ path: 'evil', target: '/etc/passwd' }] }, message: 'unsafe link "evil"' },
      { change: { links: [{ path: 'evil', target: '../../etc' }] }, message: 'unsafe link "evil"' },
      {
        change: { links: [{ path: 'evil', target: '.' }], files: [{ ...file, path: 'evil/site.yml' }] },
        message: '"evil/site.yml" lies below a link',
      },
      { change: { links: chain }, message: 'unsafe link "site/deep/evil"' },
      { change: { folders: [{ path: '../evil', mode: 0o755 }] }, message: 'unsafe path "../evil"' },
      { change: { files: [{ ...file, path: 'a\nb' }] }, message: 'unsafe path "a\\nb"' },
      { change: { files: [{ ...file, path: 'a', mode: 0o4755 }] }, message: 'cannot be used' },
    ]
    for (const { change, message } of cases) {
      const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('x')) }, change)))
      const refusal = await waitUntil('it is refused', () => job.refusals[0])
      expect(refusal).toMatchObject({ code: 'files_failed', message: expect.stringContaining(message) as string })
      expect(job.claims).toBe(0)
    }
    expect(existsSync(join(folder, 'evil'))).toBe(false)
    await exactEnd(controlPlane, controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('x')) }))))
  })

  test('a file that the control plane has no more is told as changed', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp()
    const site = play(say('x'))
    const manifest = publish(controlPlane, { 'site.yml': site })
    controlPlane.gone.add(sha256Of(Buffer.from(site)))
    const job = controlPlane.offer(orderOf(manifest))
    expect(await waitUntil('it is refused', () => job.refusals[0])).toMatchObject({ code: 'files_changed' })
  })
})

describe('orders that cannot be started', () => {
  test('a job is refused whose files come with other content, or stop coming', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp(FAST_TIMERS)
    const changed = play(say('changed'))
    const first = orderOf(publish(controlPlane, { 'site.yml': changed }))
    controlPlane.blobs.set(sha256Of(Buffer.from(changed)), Buffer.from('other content'))
    const job = controlPlane.offer(first)
    expect(await waitUntil('it is refused', () => job.refusals[0])).toMatchObject({ code: 'files_failed' })
    controlPlane.withhold = true
    const late = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('late')) })))
    // It may be offered again.
    expect(await waitUntil('it is refused', () => late.refusals[0])).toMatchObject({ code: 'busy' })
  })

  test('they end as not started and say why', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp({ RTE_MAX_JOBS: '0' })
    const manifest = publish(controlPlane, { 'site.yml': play(say('x')) })
    const cases: [Partial<JobOrder>, string][] = [
      [{ playbook: 'missing.yml' }, 'the playbook "missing.yml" is not in the playbook folder'],
      [{ playbook: '../../../claim.json' }, 'the playbook "../../../claim.json" lies outside the playbook folder'],
      [{ playbook: '/etc/passwd' }, 'the playbook "/etc/passwd" lies outside the playbook folder'],
      [{ playbook_sub_path: '..' }, 'playbookSubPath ".." lies outside the playbook folder'],
      [{ inventory: ['/etc/hosts'] }, 'the inventory "/etc/hosts" lies outside the playbook folder'],
      [{ limit: 'all,@/etc/passwd' }, 'the limit of the order is refused: "@/etc/passwd" is no pattern of hosts'],
      [
        { limit: '@/etc/passwd', of_form: { inventory: false, limit: true } },
        'the limit file "/etc/passwd" lies outside the playbook folder',
      ],
    ]
    for (const [change, message] of cases) {
      const job = controlPlane.offer(orderOf(manifest, change))
      expect(await exactEnd(controlPlane, job)).toMatchObject({ cause: 'not_started', exit_code: null, message })
      expect(job.claims).toBe(1)
    }
  })

  test('a runner without ansible says so', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim()
    symlinkSync(process.execPath, join(folder, 'node'))
    symlinkSync(python, join(folder, 'python3'))
    await joinApp({ PATH: folder })
    expect(controlPlane.hellos[0]?.ansible_version).toBeNull()
    const job = controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(say('x')) })))
    const end = await exactEnd(controlPlane, job)
    expect(end.message).toContain('ansible-playbook was not found on this runner')
  })
})

describe('a runner without Python', () => {
  test('does not start, and says what it lacks', async () => {
    const { folder, start } = await createSetting()
    symlinkSync(process.execPath, join(folder, 'node'))
    const agent = start({ PATH: folder })
    expect(await agent.exited()).toMatchObject({ code: 1 })
    expect(agent.errors).toContain('python3 does not run here')
  })
})

describe('capacity', () => {
  test('a full runner refuses as busy, and the limit of the admin wins over its own', async () => {
    const { controlPlane, folder, join: joinApp } = await createSetting()
    await joinApp({ RTE_MAX_JOBS: '1' })
    const manifest = publish(controlPlane, { 'site.yml': play(waitFor(join(folder, 'go'))) })
    const first = controlPlane.offer(orderOf(manifest))
    const second = controlPlane.offer(orderOf(manifest))
    expect(await waitUntil('it is refused', () => second.refusals[0])).toEqual({
      code: 'busy',
      message: '1 jobs run already',
    })
    controlPlane.send({ type: 'settings', state: 'approved', max_jobs: 2 })
    controlPlane.offer(second.order)
    await waitUntil('it is claimed', () => second.claims === 1)
    await waitUntil('both run', () =>
      controlPlane.statuses.some((status) => status.running_jobs === 2 && status.max_jobs === 2),
    )
    writeFileSync(join(folder, 'go'), '')
    await exactEnd(controlPlane, first)
    await exactEnd(controlPlane, second)
    await waitUntil('none runs', () => controlPlane.statuses.at(-1)?.running_jobs === 0)
  })

  test('a spool over its limit takes no new jobs until the control plane has stored', async () => {
    const { controlPlane, join: joinApp } = await createSetting()
    await joinApp({ RTE_SPOOL_MAX_MB: '0' })
    const manifest = publish(controlPlane, { 'site.yml': play(say('x')) })
    const first = controlPlane.offer(orderOf(manifest))
    first.acceptEnd = false
    await exactEnd(controlPlane, first)
    const second = controlPlane.offer(orderOf(manifest))
    expect(await waitUntil('it is refused', () => second.refusals[0])).toMatchObject({ code: 'spool_full' })
    controlPlane.send({ type: 'end_stored', job_id: first.order.job_id, run_id: first.order.run_id })
    controlPlane.offer(second.order)
    await exactEnd(controlPlane, second)
  })
})
