import { request as httpRequest } from 'node:http'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { covers } from '../../interface/covers.js'
import { putJob } from '../job-rows.js'
import { type TestServer, startServer } from '../server.js'

/** The events of a job: all of them, and those that are asked for. */
const MANY = 200_000

let server: TestServer
let token: string
let few: number
beforeAll(async () => {
  server = await startServer()
  token = (await server.addUser('ann')).token
  few = await putJob(server)
  await server.store.write('test.events', (queries) => putEvents(queries, few, EVENTS.map(eventOf)))
})
afterAll(() => server.close())

interface Made {
  readonly type: string
  readonly host?: string
  readonly task?: string
  readonly says?: object
}

const EVENTS: readonly Made[] = [
  { type: 'playbook_on_start' },
  { type: 'runner_on_ok', host: 'web1', task: 'install' },
  { type: 'runner_on_ok', host: 'web2', task: 'install', says: { changed: true } },
  { type: 'runner_on_failed', host: 'web1', task: 'start' },
  { type: 'runner_on_failed', host: 'web2', task: 'start', says: { ignored: true } },
  { type: 'runner_on_failed', host: 'web3', task: 'start', says: { rescued: true } },
  { type: 'runner_on_skipped', host: 'web1', task: 'check' },
  { type: 'runner_on_unreachable', host: 'web4', task: 'check' },
  { type: 'playbook_on_stats' },
]

function eventOf({ type, host, task, says = {} }: Made, at: number) {
  const event = {
    type,
    play: 'the play',
    task: task ?? null,
    host: host ?? null,
    duration: 0.5,
    time: '2026-01-01T00:00:00Z',
  }
  return { position: at + 1, ...event, line: Buffer.from(JSON.stringify({ ...event, ...says, order: at + 1 })) }
}

async function putEvents(queries: Queries, job: number, events: readonly ReturnType<typeof eventOf>[]): Promise<void> {
  await queries
    .insertInto('job_event')
    .values(events.map((event) => ({ job_id: job, ...event })))
    .execute()
}

/** The orders of the events that are answered. */
async function orders(query: string): Promise<number[]> {
  const { status, body } = await server.call('GET', `/job/${few}/events${query}`, { token })
  const records = body.records as { order: number }[]
  expect([status, body.count]).toEqual([200, records.length])
  return records.map(({ order }) => order)
}

test('from and to leave the events that printed something between these bytes', async () => {
  covers('endpoint.events-filters')
  const job = await putJob(server)
  const ends = [0, 10, 10, 30, 30, 45, 50, 50, 60]
  await server.store.write('test.events', async (queries) => {
    await putEvents(queries, job, EVENTS.map(eventOf))
    const marks = ends.map((shown, at) => ({ job_id: job, at: 2 * shown + at, event: at + 1, shown, line: null }))
    await queries
      .insertInto('job_output_mark')
      .values(marks.map((mark) => ({ ...mark, mark: Buffer.from('m') })))
      .execute()
  })
  const printed = ends
    .map((to, at) => ({ order: at + 1, from: ends[at - 1] ?? 0, to }))
    .filter(({ from, to }) => from < to)
  for (const [from, to] of [
    [0, 60],
    [0, 1],
    [9, 10],
    [10, 11],
    [10, 31],
    [29, 45],
    [49, 61],
    [44, 45],
    [60, 70],
    [5, 0],
  ] as const) {
    const { body } = await server.call('GET', `/job/${job}/events?from=${from}&to=${to}`, { token })
    const expected = printed.filter((event) => event.to > from && event.from < to).map(({ order }) => order)
    expect([from, to, (body.records as { order: number }[]).map(({ order }) => order)]).toEqual([from, to, expected])
  }
  // What printed nothing does not count.
  for (const [query, expected] of [
    ['from=0&limit=2', printed.slice(0, 2)],
    ['to=60&limit=3&order=desc', printed.toReversed().slice(0, 3)],
  ] as const) {
    const answer = await server.call('GET', `/job/${job}/events?${query}`, { token })
    expect(answer.body.records).toMatchObject(expected.map(({ order }) => ({ order })))
  }
  const { body } = await server.call('GET', `/job/${job}/events?from=20&host=web1`, { token })
  expect(body.records).toMatchObject(
    [{ order: 4 }, { order: 7 }].filter(({ order }) => printed.some((event) => event.order === order)),
  )
  expect((await server.call('GET', `/job/${job}/events?from=x`, { token })).status).toBe(400)
})

test('host, task and type leave only the events that have them, alone and together', async () => {
  covers('endpoint.events-filters')
  expect(await orders('')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
  expect(await orders('?host=web1')).toEqual([2, 4, 7])
  expect(await orders('?task=start')).toEqual([4, 5, 6])
  expect(await orders('?type=runner_on_ok')).toEqual([2, 3])
  expect(await orders('?host=web1&task=start')).toEqual([4])
  expect(await orders('?host=nowhere')).toEqual([])
})

test('status is the result of a task at a host', async () => {
  covers('endpoint.events-filters')
  const found = {
    ok: [2, 3],
    changed: [3],
    failed: [4, 5, 6],
    ignored: [5],
    rescued: [6],
    skipped: [7],
    unreachable: [8],
  }
  for (const [status, of] of Object.entries(found))
    expect([status, await orders(`?status=${status}`)]).toEqual([status, of])
  expect(await orders('?status=changed&type=runner_on_skipped')).toEqual([])
  expect((await server.call('GET', `/job/${few}/events?status=odd`, { token })).status).toBe(400)
})

test('outcome is any of several results, together with the other filters', async () => {
  expect(await orders('?outcome=changed,ignored')).toEqual([3, 5])
  expect(await orders('?outcome=failed,changed')).toEqual([3, 4, 5, 6])
  expect(await orders('?outcome=failed,ok&host=web1')).toEqual([2, 4])
  expect(await orders('?outcome=failed,changed&type=runner_on_ok')).toEqual([3])
  expect(await orders('?outcome=failed,changed&status=ignored')).toEqual([5])
  expect(await orders('?outcome=changed&status=ok')).toEqual([3])
  expect(await orders('?outcome=changed&status=failed')).toEqual([])
  expect((await server.call('GET', `/job/${few}/events?outcome=ok,odd`, { token })).status).toBe(400)
})

test('after and limit give page by page, also with filters', async () => {
  covers('endpoint.events-filters')
  expect(await orders('?limit=2')).toEqual([1, 2])
  expect(await orders('?after=2&limit=2')).toEqual([3, 4])
  expect(await orders('?after=9')).toEqual([])
  expect(await orders('?host=web1&after=2&limit=1')).toEqual([4])
  expect((await server.call('GET', `/job/${few}/events?after=x`, { token })).status).toBe(400)
})

test('all of 200,000 events of a job can be read', { timeout: 300_000 }, async () => {
  covers('endpoint.events-all')
  const id = await putJob(server)
  await server.store.write('test.events', async (queries) => {
    await putEvents(queries, id, [eventOf({ type: 'runner_on_ok', host: 'web1' }, 0)])
    await sql`insert into job_event (job_id, position, type, play, task, host, duration, time, line)
      with recursive number(at) as (select 2 union all select at + 1 from number where at < ${sql.lit(MANY)})
      select job_id, at, type, play, task, host, duration, time, line from job_event, number
      where job_id = ${id} and position = 1`.execute(queries)
  })
  // Counted as it comes: the answer is never in one piece here, either.
  const { records, tail } = await countRecords(`${server.url}/api/v2/job/${id}/events`, token)
  expect(records).toBe(MANY)
  expect(tail).toContain(`"order":${MANY}`)
  expect(tail).toContain(`"count":${MANY}`)
})

function countRecords(url: string, bearer: string): Promise<{ records: number; tail: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { headers: { authorization: `Bearer ${bearer}` } }, (response) => {
      let records = 0
      let tail = ''
      response.setEncoding('utf8').on('error', reject)
      response.on('data', (piece: string) => {
        // What may be cut in two is looked at with the next piece.
        const text = tail.slice(-7) + piece
        records += text.split('"order":').length - 1
        tail = (tail + piece).slice(-400)
      })
      response.on('end', () => resolve({ records, tail }))
    })
    request.on('error', reject).end()
  })
}
