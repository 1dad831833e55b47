import { describe, expect, it } from 'vitest'
import { localTime } from '../../control-plane/src/cli/show/time.js'
import { wholeRecord } from './fake-service.js'
import { type CliOptions } from './run-cli.js'
import { serviceOfFile } from './answering.js'

const { service, person } = await serviceOfFile()
const run = (args: readonly string[], options: CliOptions = {}) => person.run(['job', ...args], options)

const TIME = '2026-11-20T08:00:00.000Z'
/** The longest name is `a_field_of_tomorrow`. */
const WIDTH = 19
const HERE = localTime(TIME) ?? ''

/** Adds a job of which the service tells this, too. */
function withMore(more: object): void {
  const job = service.addJob({ status: 'success' })
  service.override = ({ path }) =>
    path === `/job/${job.id}` ? { status: 200, body: { ...wholeRecord(job), ...more } } : null
}

/** The names and values that `job show 1` prints. */
async function shown(): Promise<ReadonlyMap<string, string>> {
  const { code, stdout } = await run(['show', '1'])
  expect(code).toBe(0)
  return new Map(stdout.split('\n').map((line) => [line.slice(0, WIDTH).trim(), line.slice(WIDTH).trim()]))
}

const PLACE = { state: 'running', since: TIME, until: null, before: null, runner: null, tasks: [] }

describe('job show', () => {
  it('leaves out what is too long for a terminal, or told in other words', async () => {
    withMore({
      output: 'PLAY',
      payload: { a: 1 },
      can: { abort: true },
      place: PLACE,
      time_limit: null,
      estimate: null,
      history: [{ time: TIME, from: 'queued', to: 'running', reason: null }],
      stages: [{ state: 'running', since: TIME, until: null }],
      streams: { output: { bytes: 4, lines: 0, generation: 1 }, events: { count: 0 } },
      integrity: { state: null, output_sha256: null, events_sha256: null, verified_at: null },
    })
    const names = [...(await shown()).keys()]
    const told = ['id', 'form', 'target', 'job_type', 'status', 'status_reason', 'detail', 'start', 'end', 'user']
    const more = ['user_type', 'runner', 'parent_id', 'step', 'approval', 'abort_requested', 'abandoned_at']
    const last = ['extravars', 'credentials', 'subjobs', 'a_field_of_tomorrow', 'took']
    expect(names).toEqual([...told, ...more, ...last, ''])
    expect(service.seen.map(({ path, query }) => [path, [...query]])).toEqual([['/job/1', [['output', 'false']]]])
  })

  it('tells times by the clock on the wall, and leaves other texts as they are', async () => {
    withMore({ form: TIME, start: TIME, end: TIME, abandoned_at: TIME })
    const lines = await shown()
    expect([lines.get('start'), lines.get('end'), lines.get('abandoned_at')]).toEqual([HERE, HERE, HERE])
    expect([lines.get('form'), lines.get('took')]).toEqual([TIME, '0.00 s'])
  })

  it('tells why a job failed, by task, hosts and message', async () => {
    const job = service.addJob({ status: 'failed' })
    const message = 'No package nginx is available.'
    const where = { task_id: 3, play: null, task: 'Install', role: null, path: null, action: null, order: 4 }
    const hosts = { hosts: ['web1', 'web2'], count: 2, task_hosts: 2, from: null, line: null }
    const body = { count: 1, records: [{ ...where, ...hosts, outcome: 'failed', message }] }
    service.override = ({ path }) => (path === `/job/${job.id}/failures` ? { status: 200, body } : null)
    expect((await shown()).get('failed')).toBe(`Install (task 3) on web1, web2: ${message}`)
  })

  it('tells how long it may take, and how long it will still take', async () => {
    withMore({
      time_limit: { seconds: 600, used_seconds: 61 },
      estimate: { progress: 0.25, left_seconds: 40, shortest_seconds: 40, longest_seconds: 40, runs: 2 },
    })
    const lines = await shown()
    expect(lines.get('time limit')).toBe('10 min 00 s, of which 1 min 01 s are used')
    expect(lines.get('left')).toBe('25 % done, about 40 s left, by 2 earlier runs.')
  })

  it.each([
    [['web1'], 1, 'on web1 since'],
    [['web1', 'web2', 'web3', 'web4', 'web5'], 5, 'on web1, web2, web3, web4, web5 since'],
    [['web1', 'web2', 'web3', 'web4', 'web5', 'web6'], 6, 'on web1, web2, web3, web4, web5 and 1 more since'],
    [['web1'], 9, 'on web1 and 8 more since'],
  ])('tells the task at which it is: on %j of %i hosts', async (hosts, count, words) => {
    withMore({ place: { ...PLACE, tasks: [{ id: 17, task: 'Install', hosts, count, since: TIME }] } })
    expect((await shown()).get('at')).toBe(`Install (task 17) ${words} ${HERE}`)
  })

  it('tells a task without a name by its number', async () => {
    withMore({ place: { ...PLACE, tasks: [{ id: 17, task: null, hosts: ['a'], count: 1, since: TIME }] } })
    expect((await shown()).get('at')).toBe(`a task (task 17) on a since ${HERE}`)
  })

  it('shows the child jobs below, with the colour of their status and the whole reason', async () => {
    const reason = Array.from({ length: 30 }, (_, at) => `word${at}`).join(' ')
    withMore({ subjobs: [2] })
    service.addJob({ form: 'the first step', status: 'failed', status_reason: reason })
    const { stdout } = await run(['show', '1'], { screenColumns: 100, screenColors: true })
    const [fields = '', table = ''] = stdout.split('\n\n')
    expect(fields).toContain('took')
    expect(table).toContain('\u001b[31mfailed\u001b[39m')
    expect(table).not.toContain('… and')
    for (const word of reason.split(' ')) expect(table).toMatch(new RegExp(`${word}\\b`))
  })

  it('ends when a child job cannot be read for another reason than that it is gone', async () => {
    withMore({ subjobs: [2] })
    const before = service.override
    service.override = (request) =>
      request.path === '/job/2' ? { status: 503, body: { error: 'Not now', code: 'x' } } : (before?.(request) ?? null)
    expect(await run(['show', '1'])).toMatchObject({ code: 3, stdout: '' })
  })

  it('answers programs with everything, by one request', async () => {
    withMore({ subjobs: [2], output: 'PLAY', place: PLACE })
    service.addJob()
    const { stdout } = await run(['show', '1', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, subjobs: [2], output: 'PLAY', place: PLACE })
    expect(service.seen.map(({ path, query }) => [path, [...query]])).toEqual([['/job/1', [['text', 'true']]]])
  })
})

describe('job list', () => {
  it('names the step behind the form of a child job', async () => {
    const [child, other] = [service.addJob({ status: 'success' }), service.addJob({ status: 'success' })]
    const records = [
      { ...wholeRecord(child), target: 'tidy.yml', parent_id: 9 },
      { ...wholeRecord(other), target: 'all.yml', parent_id: null },
    ]
    service.override = () => ({ status: 200, body: { count: 2, records } })
    const rows = (await run(['list'])).stdout.split('\n')
    expect(rows[1]).toMatch(/^ 1 {2}Hello world \/ tidy\.yml {2}success/)
    expect(rows[2]).toMatch(/^ 2 {2}Hello world {2,}success/)
  })

  it('says that a job is connected only where that is a surprise', async () => {
    service.addJob({ status: 'running', connected: true })
    service.addJob({ status: 'abandoned', connected: false })
    expect((await run(['list'])).stdout).not.toContain('(connected)')
    service.addJob({ status: 'abandoned', connected: true })
    expect((await run(['list'])).stdout.match(/abandoned \(connected\)/g)).toHaveLength(1)
  })

  it('has the colour of each status on a terminal', async () => {
    service.addJob({ status: 'failed' })
    expect((await run(['list'], { screenColumns: 200, screenColors: true })).stdout).toContain('\u001b[31mfailed')
  })
})
