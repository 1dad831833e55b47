import { afterAll, beforeAll, expect, test } from 'vitest'
import { appendServiceLine, resetStreams } from '../../../control-plane/src/store/jobs/job-streams.js'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

let server: TestServer
let ann: string
let ben: string
beforeAll(async () => {
  server = await startServer()
  ann = (await server.addUser('ann')).token
  ben = (await server.addUser('ben')).token
})
afterAll(() => server.close())

interface Made {
  readonly type: string
  readonly task?: string
  readonly host?: string
  readonly says?: Readonly<Record<string, unknown>>
}

const task = (name: string) => ({ task: name, says: { task_uuid: `uuid of ${name}`, play_uuid: 'p1', action: 'ping' } })
const at = (name: string, host: string, type: string, says: object = {}) => ({
  type,
  host,
  task: name,
  says: { ...task(name).says, ...says },
})

/** Two tasks at two hosts, a handler, and a task that is under way. */
const RUN: readonly Made[] = [
  { type: 'playbook_on_start' },
  { type: 'playbook_on_play_start', says: { play_uuid: 'p1', path: 'site.yml:1' } },
  { type: 'playbook_on_task_start', ...task('install') },
  at('install', 'web1', 'runner_on_start'),
  at('install', 'web2', 'runner_on_start'),
  at('install', 'web1', 'runner_on_ok', { changed: true, result: { item: { result: 1 } } }),
  at('install', 'web2', 'runner_on_failed', { ignored: true }),
  { type: 'playbook_on_handler_task_start', ...task('restart') },
  at('restart', 'web1', 'runner_on_failed'),
  at('restart', 'web2', 'runner_on_skipped'),
  { type: 'playbook_on_task_start', ...task('check') },
  at('check', 'web2', 'runner_on_start'),
]

async function put(id: number, events: readonly Made[], from = 0): Promise<void> {
  const rows = events.map(({ type, host = null, task: name = null, says = {} }, index) => {
    const position = from + index + 1
    const shown = { type, play: 'the play', task: name, host, duration: 1, time: `2026-01-01T00:00:${10 + position}Z` }
    const line = Buffer.from(JSON.stringify({ order: position, ...shown, ...says }))
    return { job_id: id, position, ...shown, line }
  })
  await server.store.write('test.events', async (queries) => {
    await queries.insertInto('job_event').values(rows).execute()
    const count = from + rows.length
    await queries.updateTable('job_stream').set({ events_count: count }).where('job_id', '=', id).execute()
  })
}

const RUNNING = { status: 'running', dispatch: 'claimed', end_time: null } as const

async function get(path: string): Promise<Record<string, unknown>> {
  const { status, body } = await server.call('GET', path, { token: ann })
  expect(status).toBe(200)
  return body
}

test('the outline has plays and tasks in order with their results, and later only those that changed', async () => {
  covers('endpoint.outline')
  const id = await putJob(server, RUNNING)
  await put(id, RUN)
  const whole = await get(`/job/${id}/outline`)
  expect([whole.count, whole.last, whole.complete]).toEqual([4, 12, true])
  const none = { ok: 0, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0 }
  expect(whole.records).toMatchObject([
    { id: 1, kind: 'play', play: null, name: 'the play', order: 2, path: 'site.yml:1', ended: null },
    { id: 2, kind: 'task', play: 1, name: 'install', ...none, ok: 2, changed: 1, ignored: 1, hosts: 2, order: 3 },
    { id: 3, kind: 'handler', play: 1, name: 'restart', ...none, failed: 1, skipped: 1, hosts: 2 },
    { id: 4, kind: 'task', name: 'check', ...none, hosts: 1, ended: null },
  ])
  expect((whole.records as { ended: string }[])[1]?.ended).toBe('2026-01-01T00:00:17Z')
  await put(id, [at('check', 'web2', 'runner_on_unreachable'), { type: 'playbook_on_stats' }], 12)
  const news = await get(`/job/${id}/outline?after=12`)
  expect(news.records).toMatchObject([
    { id: 1, ended: '2026-01-01T00:00:23Z' },
    { id: 4, unreachable: 1, ended: '2026-01-01T00:00:23Z' },
  ])
})

test('the place of a running job names the running tasks and their hosts', async () => {
  covers('endpoint.job-detail')
  const { id: runner } = await addRunner(server, 'one')
  const id = await putJob(server, { ...RUNNING, runner_id: runner, runner_name: 'one' })
  await put(id, RUN)
  const { place } = await get(`/job/${id}?output=false`)
  // No runner is connected here.
  expect(place).toMatchObject({ state: 'lost', tasks: [{ id: 4, task: 'check', hosts: ['web2'], count: 1 }] })
})

test('the matrix has a letter for each task at each host, and can be narrowed', async () => {
  covers('endpoint.matrix')
  const id = await putJob(server, RUNNING)
  await put(id, RUN)
  const hosts = ['web1', 'web2']
  expect(await get(`/job/${id}/matrix`)).toEqual({ hosts, tasks: [2, 3, 4], cells: ['ci', 'fs', '.>'], complete: true })
  expect(await get(`/job/${id}/matrix?outcome=failed,changed`)).toMatchObject({
    hosts: ['web1'],
    tasks: [2, 3],
    cells: ['c', 'f'],
  })
  expect(await get(`/job/${id}/matrix?hosts=web2&tasks=3,4`)).toMatchObject({ hosts: ['web2'], cells: ['s', '>'] })
  expect((await server.call('GET', `/job/${id}/matrix?outcome=well`, { token: ann })).status).toBe(400)
  // What is under way when a job ends will have no result.
  await server.store.write('test.end', (queries) =>
    queries.updateTable('job').set({ status: 'failed' }).where('id', '=', id).execute(),
  )
  expect((await get(`/job/${id}/matrix`)).cells).toEqual(['ci', 'fs', '..'])
})

test('the failures of a job are told by task and message, without those that did not count', async () => {
  covers('endpoint.failures')
  const id = await putJob(server, RUNNING)
  const fails = (name: string, host: string, result: object, says: object = {}) =>
    at(name, host, 'runner_on_failed', { ...says, result })
  await put(id, [
    { type: 'playbook_on_start' },
    { type: 'playbook_on_play_start', says: { play_uuid: 'p1' } },
    { type: 'playbook_on_task_start', ...task('install') },
    fails('install', 'web1', { msg: '\nNo package nginx is available.\nTry again', rc: 1 }),
    fails('install', 'web2', { msg: 'No package nginx is available.' }),
    fails('install', 'web3', { msg: 'non-zero return code', rc: 2, stderr: '\ndisk is full\n', stdout: 'x' }),
    fails('install', 'web4', { msg: 'No package nginx is available.' }, { ignored: true }),
    fails('install', 'web5', { msg: 'No package nginx is available.' }, { rescued: true }),
    at('install', 'web6', 'runner_on_ok'),
    { type: 'playbook_on_task_start', ...task('copy') },
    at('copy', 'web6', 'runner_item_on_failed', { result: { msg: 'no such file' } }),
    fails('copy', 'web6', { msg: 'One or more items failed' }),
    at('copy', 'web7', 'runner_on_unreachable', { result: { msg: 'Failed to connect', unreachable: true } }),
  ])
  const told = { play: 'the play', task: 'install', task_id: 2, action: 'ping', outcome: 'failed', task_hosts: 6 }
  const { count, records } = await get(`/job/${id}/failures`)
  expect(count).toBe(4)
  expect(records).toMatchObject([
    { ...told, message: 'No package nginx is available.', hosts: ['web1', 'web2'], count: 2, order: 4 },
    { ...told, message: 'disk is full', hosts: ['web3'], count: 1, order: 6 },
    { task: 'copy', message: 'no such file', hosts: ['web6'], order: 12 },
    { task: 'copy', outcome: 'unreachable', message: 'Failed to connect', hosts: ['web7'], order: 13 },
  ])
  expect((await server.call('GET', `/job/${id}/failures`, { token: ben })).status).toBe(403)
  expect((await server.call('GET', '/job/999999/failures', { token: ann })).status).toBe(404)
})

test('a run that is sent again is read again', async () => {
  covers('endpoint.outline')
  const id = await putJob(server, RUNNING)
  await put(id, RUN)
  expect((await get(`/job/${id}/outline`)).count).toBe(4)
  await server.store.write('test.reset', (queries) => resetStreams(queries, id))
  await put(id, RUN.slice(0, 3))
  expect((await get(`/job/${id}/outline`)).count).toBe(2)
})

test('events can be asked for from the end and by outcomes, and say which task of the outline they belong to', async () => {
  covers('endpoint.events-filters')
  const id = await putJob(server, RUNNING)
  await put(id, RUN)
  const orders = async (query: string) =>
    ((await get(`/job/${id}/events?${query}`)).records as { order: number }[]).map(({ order }) => order)
  expect(await orders('order=desc&limit=3')).toEqual([12, 11, 10])
  expect(await orders('order=desc&before=10&after=7')).toEqual([9, 8])
  expect(await orders('outcome=failed,changed')).toEqual([6, 7, 9])
  expect(await orders('outcome=skipped,changed&host=web1')).toEqual([6])
  expect(await orders('outcome=changed&type=runner_on_failed')).toEqual([])
  const { run_id } = await get(`/job/${id}`)
  for (const path of [`/job/${id}/events?after=5`, `/job/${id}/outline?after=5`, `/job/${id}/output?offset=0`]) {
    const { headers } = await server.call('GET', path, { token: server.admin })
    expect([path, headers.get('x-run-id')]).toEqual([path, run_id])
  }
  const { records } = await get(`/job/${id}/events?after=5&limit=2`)
  expect(records).toMatchObject([
    { order: 6, task_id: 2, play_id: 1, action: 'ping', changed: true, ignored: false },
    { order: 7, task_id: 2, changed: false, ignored: true },
  ])
})

test('a text is found at any place in the output, with its line', async () => {
  covers('endpoint.output-search')
  const id = await putJob(server)
  // A hit across two blocks of 64 KiB, with a line end in it.
  const before = `${'a line\n'.repeat(9361)}12345`
  const text = `${before}fatal:\n web1 FAILED, Ümlaut\n${'x'.repeat(70_000)} fatal: \n`
  expect(before.length).toBeLessThan(65_536)
  expect(before.length + 8).toBeGreaterThan(65_536)
  await server.store.write('test.text', (queries) => appendServiceLine(queries, id, text))
  const bytes = Buffer.from(text)
  const wanted = (what: string, from = 0) => {
    const byte = bytes.indexOf(what, from)
    return [bytes.subarray(0, byte).filter((one) => one === 0x0a).length, byte]
  }
  /** An answer on a slow machine may have a part of the hits only, and says where to go on. */
  const find = async (query: string): Promise<Record<string, unknown>> => {
    const answer = await get(`/job/${id}/output/search?${query}`)
    if (answer.next === null || query.includes('limit')) return answer
    const onward = new URLSearchParams(query)
    onward.set('from', String(answer.next))
    const rest = await find(onward.toString())
    const hits = [...(answer.hits as unknown[]), ...(rest.hits as unknown[])]
    return { ...rest, count: hits.length, hits }
  }
  const first = wanted('fatal:')
  const second = wanted('fatal:', (first[1] ?? 0) + 1)
  expect(await find('q=FATAL:')).toEqual({ count: 2, complete: true, next: null, hits: [first, second] })
  expect(await find('q=FATAL:&case=true')).toMatchObject({ count: 0, complete: true })
  expect((await find(`q=${encodeURIComponent('fatal:\n web1')}`)).hits).toEqual([first])
  expect((await find(`q=${encodeURIComponent('Üm')}`)).hits).toEqual([wanted('Üm')])
  const one = await find('q=fatal&limit=1')
  expect(one).toMatchObject({ count: 1, complete: false, hits: [first] })
  expect(await find(`q=fatal&from=${String(one.next)}`)).toMatchObject({ complete: true, hits: [second] })
  expect((await server.call('GET', `/job/${id}/output/search?q=`, { token: ann })).status).toBe(400)
})

test('a user has a few searches at a time, and each that ends makes room', async () => {
  const id = await putJob(server)
  await server.store.write('test.text', (queries) => appendServiceLine(queries, id, 'x'.repeat(16 * 1024 * 1024)))
  const find = async () => (await server.call('GET', `/job/${id}/output/search?q=y`, { token: ann })).status
  const statuses = await Promise.all(Array.from({ length: 8 }, find))
  expect([...new Set(statuses)].toSorted()).toEqual([200, 429])
  expect(await find()).toBe(200)
})

test.each(['outline', 'matrix', 'output/index', 'output/pieces?host=web1', 'output/search?q=a'])(
  '%s is only for who may see the job: 401, then 404, then 403',
  async (path) => {
    const id = await putJob(server)
    const statusOf = async (job: number, token?: string) =>
      (await server.call('GET', `/job/${job}/${path}`, { token })).status
    expect([await statusOf(id), await statusOf(999_999, ben), await statusOf(id, ben)]).toEqual([401, 404, 403])
  },
)

test('on demand the outline also says when each host was at tasks, and what came of them', async () => {
  covers('endpoint.outline')
  const id = await putJob(server, RUNNING)
  await put(id, RUN)
  expect((await get(`/job/${id}/outline`)).hosts).toBeUndefined()
  const none = { ok: 0, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0 }
  // Install takes 2 and 2 seconds. Restart begins at second 18, and its results come at 19 and 20.
  expect((await get(`/job/${id}/outline?hosts=true`)).hosts).toEqual([
    {
      host: 'web1',
      started: '2026-01-01T00:00:14.000Z',
      busy_ms: 3000,
      spans: [
        [0, 2000],
        [4000, 5000],
      ],
      since: null,
      ...none,
      ok: 1,
      changed: 1,
      failed: 1,
    },
    {
      host: 'web2',
      started: '2026-01-01T00:00:15.000Z',
      busy_ms: 4000,
      spans: [
        [0, 2000],
        [3000, 5000],
      ],
      since: '2026-01-01T00:00:22.000Z',
      ...none,
      ok: 1,
      ignored: 1,
      skipped: 1,
    },
  ])
  // Nothing goes on at a host when the job has ended.
  await server.store.write('test.end', (queries) =>
    queries.updateTable('job').set({ status: 'failed' }).where('id', '=', id).execute(),
  )
  expect((await get(`/job/${id}/outline?hosts=true`)).hosts).toMatchObject([{ since: null }, { since: null }])
})
