import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fingerprintOf, sealSecrets } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processesOf } from './agent-process.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

const LONG_MS = 300_000
const IMAGE = 'localhost/holdfast-test:1'
const SECRET = 'a-canary-of-the-container'

/** Podman with images, limits and a runtime of this test's own: nothing of the host's is used or changed. */
interface Podman {
  readonly environment: Record<string, string>
  names(): string
  close(): void
}

function podmanBelow(folder: string): Podman {
  const place = (name: string): string => join(folder, name)
  const storage = ['[storage]', 'driver = "vfs"', `graphroot = "${place('images')}"`, `runroot = "${place('run')}"`]
  const runtime = spawnSync('runc', ['--version']).status === 0 ? ['runtime = "runc"'] : []
  const limits = 'default_ulimits = ["nofile=1024:4096", "nproc=1000:1000"]'
  const engine = ['[engine]', 'cgroup_manager = "cgroupfs"', 'events_logger = "none"', ...runtime]
  writeFileSync(place('storage.conf'), storage.join('\n'))
  writeFileSync(place('containers.conf'), ['[containers]', limits, ...engine].join('\n'))
  const environment = {
    CONTAINERS_CONF: place('containers.conf'),
    CONTAINERS_STORAGE_CONF: place('storage.conf'),
  }
  const podman = (...words: string[]): string =>
    execFileSync('podman', words, { encoding: 'utf8', env: { ...process.env, ...environment }, stdio: 'pipe' })
  // The system of the image is that of the host, mounted by an option; only the folders and a file are its own.
  const root = place('root')
  for (const name of ['etc', 'proc', 'sys', 'dev', 'tmp', 'root', 'usr'])
    mkdirSync(join(root, name), { recursive: true })
  for (const name of ['bin', 'sbin', 'lib', 'lib64']) symlinkSync(`usr/${name}`, join(root, name))
  writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
  writeFileSync(join(root, 'etc/of-the-image'), 'it stands in the image')
  execFileSync('tar', ['-C', root, '-cf', place('root.tar'), '.'])
  podman('import', place('root.tar'), IMAGE)
  podman('run', '--rm', '--network=host', '--volume=/usr:/usr:ro', IMAGE, 'ansible-playbook', '--version')
  return {
    environment,
    names: () => podman('ps', '--all', '--format={{.Names}}'),
    close() {
      spawnSync('podman', ['rm', '--all', '--force'], { env: { ...process.env, ...environment } })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Why podman cannot run a container with this host's ansible here; null: it can. */
function openPodman(): { podman: Podman | null; reason: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-podman-'))
  try {
    return { podman: podmanBelow(folder), reason: '' }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    return { podman: null, reason: String((error as { stderr?: unknown }).stderr ?? error) }
  }
}

test('a form that asks for an image is refused on a runner without containers, and says why', async () => {
  const { controlPlane, join: joinApp } = await createSetting()
  await joinApp()
  const manifest = publish(controlPlane, { 'site.yml': play(say('hello')) })
  const end = await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest, { image: 'team/ansible:1' })))
  expect(end).toMatchObject({
    exit_code: null,
    message: 'the form asks for the image team/ansible:1, and this runner has not RTE_EXECUTION=podman',
  })
})

const { podman, reason } = openPodman()
if (podman === null) console.warn(`playbooks are not run in containers: ${reason}`)

describe.skipIf(podman === null)('playbooks in containers of podman', () => {
  let settings: Record<string, string>
  beforeAll(() => {
    settings = {
      ...podman?.environment,
      RTE_EXECUTION: 'podman',
      RTE_EXECUTION_IMAGE: IMAGE,
      RTE_EXECUTION_OPTIONS: '--network=host --volume=/usr:/usr:ro',
    }
  })
  afterAll(() => podman?.close())

  test(
    'run with their secrets, keys and events, go on when the agent is killed, and leave no container',
    async () => {
      const { controlPlane, folder, statePath, join: joinApp } = await createSetting()
      const agent = await joinApp(settings)
      const site = play(
        say("{{ lookup('file', '/etc/of-the-image') }} {{ secret | reverse }} {{ secret }} {{ plain }}"),
        { name: 'key', command: 'cat {{ key }}' },
        { name: 'home', stat: { path: join(folder, 'quick-programs') }, register: 'seen' },
        say('folder of the host seen: {{ seen.stat.exists }}'),
        waitFor('{{ playbook_dir }}/gate'),
      )
      const order = orderOf(publish(controlPlane, { 'site.yml': site }), {
        extravars: { inline: { plain: '{{ 1 }}' } },
      })
      const hello = controlPlane.hellos.at(-1)
      if (!hello) throw new Error('no agent has said hello')
      const keyFiles = [{ at: ['key'], content: 'a-key-in-memory' }]
      const text = {
        variables: {},
        extravars: { secret: SECRET, key: '' },
        key_files: keyFiles,
        vault_password: null,
        vaults: [],
        hidden: [SECRET],
        origins: ['the job'],
      }
      const binding = { jobId: order.job_id, runId: order.run_id, fingerprint: fingerprintOf(hello.identity_key) }
      const job = controlPlane.offer({
        ...order,
        sealed: sealSecrets(JSON.stringify(text), hello.sealing_key, binding),
      })
      const output = (): string => controlPlane.stored(job, 'output').toString()
      await waitUntil('it waits, or has ended', () => output().includes('TASK [wait]') || job.end !== null, LONG_MS)
      expect(job.end, output()).toBeNull()
      expect(podman?.names()).toContain(order.run_id)
      await agent.kill()
      await joinApp(settings)
      const work = join(statePath, 'spool/jobs', `${order.job_id}-${order.run_id}`, 'work')
      expect(existsSync(work)).toBe(true)
      writeFileSync(join(work, 'gate'), '')
      const end = await exactEnd(controlPlane, job, LONG_MS)
      expect(end.exit_code, end.text).toBe(0)
      expect(end.text).toContain(`it stands in the image ${[...SECRET].reverse().join('')} ******** {{ 1 }}`)
      expect(end.text).toContain('folder of the host seen: False')
      expect(end.lines.filter(({ type }) => type === 'runner_on_ok').length).toBeGreaterThan(3)
      await waitUntil('no container is left', () => podman?.names() === '', LONG_MS)
    },
    2 * LONG_MS,
  )

  test(
    'end with an abort, and say what is wrong with an image',
    async () => {
      const { controlPlane, join: joinApp } = await createSetting()
      await joinApp({ ...settings, RTE_EXECUTION_IMAGE: 'localhost/holdfast-none:1' })
      const manifest = publish(controlPlane, { 'site.yml': play(waitFor('/none')) })
      const wanting = await exactEnd(controlPlane, controlPlane.offer(orderOf(manifest)), LONG_MS)
      expect(wanting.exit_code).toBe(125)
      expect(wanting.text).toContain('holdfast-none')
      // The form names its own, which is there.
      const job = controlPlane.offer(orderOf(manifest, { image: IMAGE }))
      const output = (): string => controlPlane.stored(job, 'output').toString()
      await waitUntil('it waits, or has ended', () => output().includes('TASK [wait]') || job.end !== null, LONG_MS)
      expect(job.end, output()).toBeNull()
      controlPlane.send({ type: 'abort', job_id: job.order.job_id, run_id: job.order.run_id })
      expect(await exactEnd(controlPlane, job, LONG_MS)).toMatchObject({ cause: 'aborted' })
      expect(processesOf(job.order.run_id)).toEqual([])
      await waitUntil('no container is left', () => podman?.names() === '', LONG_MS)
    },
    2 * LONG_MS,
  )
})
