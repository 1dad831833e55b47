import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createCourses } from '../../../control-plane/src/jobs/course/courses.js'
import { createEstimates } from '../../../control-plane/src/jobs/detail/estimates.js'
import { readJobsWithPlaces } from '../../../control-plane/src/jobs/detail/list-places.js'
import { readNodes } from '../../../control-plane/src/jobs/detail/nodes.js'
import { placeOf } from '../../../control-plane/src/jobs/detail/place.js'
import { type JobReading, type ListRequest, readJobs } from '../../../control-plane/src/jobs/read/reading.js'
import type { PlanNode, SequencePort } from '../../../control-plane/src/jobs/record/sequence-port.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { changeNode, insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { type RunTask, runEvents } from '../../support/run-events.js'
import { waitFor } from '../../support/wait.js'
import { caller } from './launch-parts.js'
import { outputStore, watched } from './stored-output.js'

const admin = { ...caller, isAdmin: true }
const START = Date.parse('2026-01-01T00:00:00Z')
const EPOCH = 4

let db: Awaited<ReturnType<typeof outputStore>>
beforeAll(async () => {
  db = await outputStore()
})
afterAll(() => db.close())

/** A job with the events of these tasks. @param most only so many of them have come */
async function ran(row: Parameters<typeof db.job>[0], tasks: readonly RunTask[], most?: number): Promise<number> {
  const id = await db.job(row)
  const events = runEvents(tasks)
    .slice(0, most)
    .map((event) => {
      const { type, play, task, host, time } = event as typeof event &
        Record<'type' | 'play' | 'task' | 'host' | 'time', string>
      return { type, play, task, host, time, duration: null, line: Buffer.from(`${JSON.stringify(event)}\n`) }
    })
  await db.printEvents(id, events)
  return id
}

async function rowOf(id: number) {
  const job = await findJob(db.queries, id)
  if (!job) throw new Error('the job is gone')
  return job
}

const seconds = (count: number): RunTask[] => [{ name: 'the task', at: 0, hosts: { web: ['ok', count] } }]
const GOOD = { status: 'success', dispatch: 'done', end_time: 2 } as const

describe('an estimate', () => {
  const noNodes = { nodesOf: () => [] }

  function estimates(queries: Queries = db.queries, sequences: Pick<SequencePort, 'nodesOf'> = noNodes) {
    let time = START
    const made = createEstimates({ queries, courses: createCourses(queries), sequences, now: () => time })
    return { ...made, move: (ms: number) => (time += ms) }
  }

  test('for a list is made again after five seconds, or when the job has moved on', async () => {
    await ran({ ...GOOD, form: 'list' }, seconds(100))
    const job = await rowOf(await ran({ form: 'list' }, seconds(100), 3))
    const { recentOf, of, move } = estimates()
    const left = async (row = job) => (await recentOf(row))?.leftMs
    expect(await left()).toBe(100_000)
    move(4999)
    expect([await left(), (await of(job))?.leftMs]).toEqual([100_000, 95_001])
    move(1)
    expect(await left()).toBe(95_000)
    move(10)
    expect(await left()).toBe(95_000)
    expect(await left({ ...job, dispatch: 'offered' })).toBeUndefined()
    expect(await left()).toBe(94_990)
  })

  test('is for a playbook that runs, of earlier runs that had tasks', async () => {
    await ran({ ...GOOD, form: 'kinds' }, seconds(10))
    const job = await rowOf(await ran({ form: 'kinds' }, seconds(10), 3))
    const { of } = estimates()
    expect(await of(job)).toMatchObject({ leftMs: 10_000, runs: 1 })
    expect(await of({ ...job, dispatch: 'queued' })).toBeNull()
    expect(await of({ ...job, job_type: 'multistep' })).toBeNull()
    await ran({ ...GOOD, form: 'empty' }, [])
    expect(await of(await rowOf(await ran({ form: 'empty' }, seconds(10), 3)))).toBeNull()
    // Their plays began, and no task did.
    for (const form of ['played', 'mixed']) await ran({ ...GOOD, form }, seconds(10), 2)
    await ran({ ...GOOD, form: 'mixed' }, seconds(10))
    expect(await of(await rowOf(await ran({ form: 'played' }, seconds(10), 3)))).toBeNull()
    expect(await of(await rowOf(await ran({ form: 'mixed' }, seconds(10), 3)))).toMatchObject({
      leftMs: 10_000,
      runs: 1,
    })
  })

  test('chooses the earlier runs of a job once, and keeps them for 200 jobs', async () => {
    await ran({ ...GOOD, form: 'kept' }, seconds(10))
    const ids = await db.jobs(201, { form: 'kept' })
    const later = await ran({ ...GOOD, form: 'kept', end_time: 3 }, seconds(30))
    const events = watched(db.queries, 'job_stream')
    const { of } = estimates(events.queries)
    const costOf = async (id: number) => {
      const { count } = events
      await of(await rowOf(id))
      return events.count - count
    }
    const [first = 0, second = 0] = ids
    const made = await costOf(first)
    const kept = await costOf(first)
    expect([later > 0, kept < made]).toEqual([true, true])
    for (const id of ids.slice(1, 200)) await costOf(id)
    expect(await costOf(first)).toBe(kept)
    await costOf(ids[200] ?? 0)
    expect(await costOf(second)).toBe(kept)
    expect(await costOf(first)).toBeGreaterThan(kept)
  })

  test('that could not be made is made when somebody asks again', async () => {
    await ran({ ...GOOD, form: 'broken' }, seconds(10))
    const job = await rowOf(await ran({ form: 'broken' }, seconds(10), 3))
    const jobs = watched(db.queries, 'job')
    const { of, recentOf } = estimates(jobs.queries)
    jobs.hold()
    const failed = recentOf(job)
    await waitFor('the question', () => jobs.count > 0)
    jobs.release(new Error('the database is away'))
    await expect(failed).rejects.toThrow('the database is away')
    expect(await of(job)).toMatchObject({ leftMs: 10_000 })
    expect(await recentOf(job)).toMatchObject({ leftMs: 10_000 })
  })
})

describe('the place of a job', () => {
  const runners = (isConnected: boolean) => ({
    connectionsOf: (ids: readonly number[]) =>
      Promise.resolve(new Map(isConnected ? ids.map((id) => [id, EPOCH] as const) : [])),
  })

  async function place(id: number, isConnected = true) {
    const courses = createCourses(db.queries)
    return placeOf({ queries: db.queries, courses, runners: runners(isConnected), now: () => START }, await rowOf(id))
  }
  const HELD = { runner_id: 1, runner_name: 'edge', held_epoch: EPOCH }

  test.each([
    ['parked', {}, 'waiting'],
    ['queued', {}, 'queued'],
    ['offered', {}, 'offered'],
    ['driven', {}, 'running'],
    ['claimed', {}, 'lost'],
    ['claimed', HELD, 'claimed'],
    ['claimed', { ...HELD, held_epoch: EPOCH - 1 }, 'lost'],
    ['done', { status: 'abandoned' }, 'lost'],
  ] as const)('of a job that is %s (%j) is %s', async (dispatch, row, state) => {
    expect(await place(await db.job({ dispatch, ...row }))).toMatchObject({ state })
  })

  test('is known only until the end of the job', async () => {
    expect(await place(await db.job(GOOD))).toBeNull()
  })

  test('of a playbook that has begun names its tasks, each since its first host, with 20 hosts and 20 tasks', async () => {
    const tasks = Array.from({ length: 21 }, (_, at): RunTask => {
      const hosts = Array.from({ length: at === 0 ? 21 : 1 }, (_host, number) => [
        `web${number}`,
        ['start', at + 3 - (number % 3)],
      ])
      return { name: `task ${at}`, at, hosts: Object.fromEntries(hosts) as RunTask['hosts'] }
    })
    const id = await ran(HELD, tasks)
    const found = await place(id)
    expect(found).toMatchObject({ state: 'running', runner: { name: 'edge', online: false } })
    expect(found?.tasks).toHaveLength(20)
    expect(found?.tasks[0]).toMatchObject({ task: 'task 0', count: 21, since: '2026-01-01T00:00:01.000Z' })
    expect(found?.tasks[0]?.hosts).toEqual(Array.from({ length: 20 }, (_, number) => `web${number}`))
    expect(await place(id, false)).toMatchObject({ state: 'lost' })
  })

  test('in a group says how many wait before it', async () => {
    const member = { dispatch: 'parked', concurrency_group: 'g', concurrency_limit: null } as const
    const running = await db.job({ ...member, dispatch: 'claimed', has_place: 1 })
    await db.job(member)
    const id = await db.job(member)
    await db.job(member)
    expect((await place(id))?.group).toEqual({ name: 'g', limit: 1, running: [running], before: 1 })
    expect((await place(running))?.group).toBeNull()
    expect((await place(await db.job({ ...member, status: 'approve' })))?.group).toBeNull()
    expect((await place(await db.job({ dispatch: 'parked' })))?.group).toBeNull()
  })
})

test('the nodes of a parent job have the times and jobs that they had, in the order of the plan', async () => {
  const id = await db.job({ job_type: 'multistep', dispatch: 'driven' })
  const child = await db.job({ parent_id: id })
  const links = { success: ['b'], failure: [], always: [] }
  const node = (identifier: string, more: Partial<PlanNode> = {}): PlanNode => {
    return { identifier, name: identifier, type: 'step', links, needsAllParents: false, runners: [null], ...more }
  }
  const planned = [node('a'), node('missing'), node('b', { needsAllParents: true, type: 'job_template' }), node('c')]
  await db.store.write('test.sequence', async (queries) => {
    await insertSequence(queries, id, { plan: JSON.stringify({ plan: {} }), nodes: ['c', 'b', 'a'] })
    await changeNode(queries, id, 'a', { status: 'running', subjob_id: child, start_time: 1000, end_time: null })
    await changeNode(queries, id, 'b', { status: 'success', subjob_id: null, start_time: 1000, end_time: 2000 })
    await changeNode(queries, id, 'c', { status: 'do not run', end_time: 3000, reason: 'not needed' })
  })
  const nodes = await readNodes({ queries: db.queries, sequences: { nodesOf: () => planned } }, admin, id)
  expect(nodes).toMatchObject([
    {
      identifier: 'a',
      all_parents: false,
      status: 'running',
      start: '1970-01-01T00:00:01.000Z',
      end: null,
      job: child,
    },
    { identifier: 'b', all_parents: true, end: '1970-01-01T00:00:02.000Z', job: null, links },
    { identifier: 'c', start: null, end: null, reason: 'not needed', job: null },
  ])
  expect(nodes.every((shown) => !('runners' in shown))).toBe(true)
  await expect(readNodes({ queries: db.queries, sequences: { nodesOf: () => planned } }, admin, child)).rejects.toThrow(
    'has no steps and no nodes',
  )
})

describe('a list of jobs', () => {
  const reading = (): JobReading => ({
    queries: db.queries,
    maskPattern: /secret/,
    listSize: 5000,
    passwordFieldsOf: () => Promise.resolve(new Set()),
    runners: { connectionsOf: () => Promise.resolve(new Map()) },
  })
  const request = (form: string, records?: number): ListRequest => {
    return {
      waiting: false,
      filter: { values: { form } },
      records: records === undefined ? undefined : String(records),
    }
  }

  test('of 1000 jobs has a tag, and one of 1001 jobs has none', async () => {
    await db.jobs(1001, { ...GOOD, form: 'many' })
    const courses = createCourses(db.queries)
    const sequences = { nodesOf: () => [] }
    const estimates = createEstimates({ queries: db.queries, courses, sequences, now: () => START })
    const deps = { reading: reading(), courses, estimates, clock: { now: () => START } }
    for (const read of [
      (count: number) => readJobs(reading(), admin, request('many', count)),
      (count: number) => readJobsWithPlaces(deps, admin, request('many', count)),
    ]) {
      const [most, more] = [await read(1000), await read(1001)]
      expect([typeof most.tag, more.tag]).toEqual(['string', null])
      expect([...more.portions].flatMap(({ text }) => JSON.parse(`[${text}]`) as unknown[])).toHaveLength(1001)
      // A list that is full has a next page, also if nothing is on it.
      expect([typeof most.next, typeof more.next, (await read(1002)).next]).toEqual(['number', 'number', null])
    }
  })
})
