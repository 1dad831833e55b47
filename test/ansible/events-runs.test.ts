import { mkdir, readFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { JobFolder, fixtures } from './job-folder.js'
import { exists, until } from './observe.js'

const folder = join(fixtures, 'runs')
const local = ['-i', 'localhost,', '-c', 'local']

describe('runs of ansible-playbook', () => {
  it('of two playbooks number their events through', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'simple.yml', 'simple.yml'])
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 0 })
    const types = (await job.events()).map((event) => event.type)
    expect(types.filter((type) => type === 'playbook_on_start')).toHaveLength(2)
    expect(types.filter((type) => type === 'playbook_on_stats')).toHaveLength(2)
    expect(types.at(-1)).toBe('playbook_on_stats')
  })

  it('that run a playbook themselves keep its events out', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'nested.yml'])
    expect(await job.run()).toMatchObject({ cause: 'exited', exit_code: 0 })
    const events = await job.events()
    expect(new Set(events.map((event) => event.play))).toEqual(new Set([null, 'outer']))
    const environment = events.find((event) => event.task === 'environment of a task' && event.type === 'runner_on_ok')
    expect(environment?.result?.['stdout']).toBe('HOLDFAST_JOB_MARKER')
    expect(await job.report()).toMatchObject({ finished: true, events: events.length })
  })

  it.each([
    ['a syntax error', ['broken.yml'], 4],
    ['a --limit that matches nobody', ['--limit', 'nobody', 'simple.yml'], 1],
    ['a playbook that is not there', ['missing.yml'], 1],
  ])('with %s have no events but a true end', async (_, args, exitCode) => {
    const job = await JobFolder.ofPlaybook(folder, [...local, ...args])
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'exited', exit_code: exitCode, message: null })
    expect(end.events).toMatchObject({ length: 0, errors: 0, before_play: true })
    expect((await job.output()).length).toBeGreaterThan(0)
  })

  it('that ask for what nobody answers end and say what they asked for, and which inventory was no help', async () => {
    const job = await JobFolder.ofPlaybook(folder, ['-i', join(folder, 'idle-script.sh'), 'asks.yml'])
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 1, events: { plugin_seen: true } })
    expect(end.events).not.toHaveProperty('before_play')
    expect(end.message).toBe(
      'ansible could not read the inventory idle-script.sh: it begins with #! and is not executable; ' +
        'the playbook asks for the variable given (vars_prompt) and nobody can answer: give it as an extra variable',
    )
    expect((await job.events()).map((event) => event.type)).toEqual(['playbook_on_start', 'playbook_on_vars_prompt'])
  })

  it('that ask go on with answers, and no event shows the arguments of a module that printed something odd', async () => {
    const asked = { ANSIBLE_BECOME_ASK_PASS: '1', ANSIBLE_ASK_PASS: '1' }
    const job = await JobFolder.ofPlaybook(folder, [...local, '-e', 'given=told', 'asks.yml'], { env: asked })
    expect(await job.run()).toMatchObject({
      cause: 'exited',
      exit_code: 0,
      message: 'a pause did not wait for an answer, because there is no terminal',
    })
    const events = await job.events()
    const resultOf = (task: string) =>
      events.find((event) => event.task === task && /_(ok|failed)$/.test(event.type))?.result
    expect(resultOf('answers')).toMatchObject({ msg: 'told as usual' })
    expect(JSON.stringify(resultOf('babbles'))).toContain(
      'the arguments of the module, and what follows them, are left out',
    )
    expect(JSON.stringify(events)).not.toContain('an-argument-of-the-module')
  })

  it('that loop over the variables of hosts have each event, although these are no values of JSON', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'hostvars.yml'])
    const end = await job.run()
    expect(end).toMatchObject({ exit_code: 0, events: { errors: 0, dropped: 0, plugin_seen: true } })
    const events = await job.events()
    expect(events.find(({ type }) => type === 'runner_item_on_ok')?.result).toMatchObject({
      msg: 'größe ✔ of localhost',
    })
    expect(events.some(({ type }) => type === 'runner_on_ok')).toBe(true)
    expect((await job.output()).toString()).not.toContain('Failure using method')
  })

  it('that are aborted leave whole events and nothing else', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, '-e', 'ready=MARK', 'endless.yml'], {
      ladder: { interrupt: 3, terminate: 1 },
    })
    await job.replaceInOrders('MARK', job.file('ready'))
    job.start()
    await until('the playbook waits', () => exists(job.file('ready')))
    await job.abort()
    const end = await job.end()
    expect(end).toMatchObject({ cause: 'aborted', aborted: true, exit_code: 99 })
    expect(await job.output()).toContain('User interrupted execution')
    const events = await job.events()
    expect(events.at(-1)).toMatchObject({ task: 'wait for the abort' })
    expect(await job.report()).toMatchObject({ finished: false, events: events.length })
  })

  it('with results that are too long cut them at the source, and later events are unharmed', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'big.yml'])
    expect((await job.run()).events).toMatchObject({ dropped: 0, errors: 0 })
    const events = await job.events()
    const big = events.find((event) => event.task === 'big output' && event.type === 'runner_on_ok')?.result
    const whole = createHash('sha256').update('x'.repeat(3_000_000)).digest('hex')
    expect(big?.['_cut']).toContainEqual({ path: 'stdout', bytes: 3_000_000, sha256: whole })
    expect(String(big?.['stdout'])).toMatch(/^x{10000,}\n\[holdfast: cut here, [^\n]+\]\nx{10000,}$/)
    expect(big?.['rc']).toBe(0)
    const items = events.filter((event) => event.task === 'big loop' && event.type === 'runner_item_on_ok')
    expect(items).toHaveLength(150)
    const loop = events.find((event) => event.task === 'big loop' && event.type === 'runner_on_ok')
    expect(loop?.result?.['_items']).toEqual({ ok: 150, changed: 0, failed: 0, skipped: 0 })
    expect(loop?.result).not.toHaveProperty('results')
    expect(events.at(-2)).toMatchObject({ task: 'still well', result: { msg: 'fine' } })
  })

  it('have all events when only the report about them could not be written, and nobody says otherwise', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'simple.yml'])
    await mkdir(job.file('callback.json'))
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0, events: { plugin_seen: true } })
    expect((await job.events()).length).toBeGreaterThan(2)
  })

  it('without the callback have whole output and say that no plugin was seen', async () => {
    const job = await JobFolder.ofPlaybook(folder, [...local, 'simple.yml'])
    await job.replaceInOrders('holdfast_events', 'no_such_callback')
    const end = await job.run()
    expect(end).toMatchObject({ cause: 'exited', exit_code: 0 })
    expect(end.events).toMatchObject({ length: 0, plugin_seen: false })
    expect(await readFile(job.file('output.log'), 'utf8')).toContain('said')
  })
})
