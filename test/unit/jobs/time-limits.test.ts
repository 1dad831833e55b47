import { describe, expect, test } from 'vitest'
import { announceAdmitted, createJobLimits } from '../../../control-plane/src/jobs/limits/job-limits.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { waitFor } from '../../support/wait.js'

/** The number of the connection on which the runner named its jobs. */
const EPOCH = 4
const RUNNER = 7
const LIMIT_MS = 20_000
/** A node looks this often, and so much time counts at most between two looks. */
const LOOK_MS = 1000
const MAX_BETWEEN_MS = 10_000

async function made() {
  const queries = await memoryDatabase()
  const told: string[] = []
  const state = { now: 1_000_000, looks: 0, epoch: EPOCH, meanwhile: async () => {} }
  const held = heldTimers()
  const store = {
    read: queries,
    async write(_: string, task: (queries: Queries) => unknown) {
      await state.meanwhile()
      return task(queries)
    },
  }
  const limits = createJobLimits({
    store: store as unknown as Store,
    live: { changed: (name) => void told.push(`changed ${name}`), subscribe: () => () => undefined },
    serviceClock: {
      look() {
        state.looks += 1
        return Promise.resolve(state.now)
      },
    },
    runners: {
      jobQueued: (runnerId) => void told.push(`queued for ${runnerId}`),
      abortRequested: (runnerId, jobId, runId) => void told.push(`abort ${jobId}, run ${runId}, at ${runnerId}`),
      connectionsOf: (ids) => Promise.resolve(new Map(ids.map((id) => [id, state.epoch]))),
    },
    sequences: { advance: (id) => void told.push(`advance ${id}`) },
    log: { info: () => undefined, warn: () => void told.push('a failed look') },
    clock: { now: () => 5 },
    timers: held.timers,
  })
  let runs = 0
  return {
    queries,
    told,
    state,
    held,
    limits,
    add(changes: Partial<NewJob> = {}): Promise<number> {
      const running = { dispatch: 'claimed', held_epoch: EPOCH, time_limit_ms: LIMIT_MS } as const
      const row = { ...queuedJob(RUNNER, String((runs += 1)).padStart(32, '0')), ...running, ...changes }
      return insertJob(queries, row)
    },
    async row(id: number) {
      const job = await findJob(queries, id)
      if (!job) throw new Error(`there is no job ${id}`)
      return job
    },
    /** Looks again and again, until so much time has passed. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += MAX_BETWEEN_MS) {
        state.now += Math.min(MAX_BETWEEN_MS, ms - passed)
        await limits.look()
      }
    },
    async outputOf(id: number) {
      let text = ''
      for await (const piece of readOutput(queries, id, 0)) text += piece.toString()
      return text
    },
  }
}

describe('the time limit of a job', () => {
  test('aborts it when it has run for that long, and not a moment earlier', async () => {
    const { add, limits, pass, row, told, outputOf } = await made()
    const id = await add()
    await limits.look()
    await pass(LIMIT_MS - 1)
    expect((await row(id)).abort_requested).toBe(0)
    expect(told).toEqual([])
    await pass(1)
    expect(await row(id)).toMatchObject({
      status: 'running',
      abort_requested: 1,
      abort_requested_by: 'the time limit of its form (20 seconds)',
    })
    expect(await outputOf(id)).toContain('[WARNING]: Abort requested by the time limit of its form (20 seconds)')
    expect(told).toEqual(['changed jobs', `abort ${id}, run ${'1'.padStart(32, '0')}, at ${RUNNER}`])
    await pass(LIMIT_MS)
    expect(told).toHaveLength(2)
  })

  test('goes on for an abandoned job that its runner has', async () => {
    const { add, limits, pass, row } = await made()
    const id = await add({ status: 'abandoned' })
    await limits.look()
    await pass(LIMIT_MS)
    expect((await row(id)).abort_requested).toBe(1)
  })

  test.each<[string, Partial<NewJob>]>([
    ['has no limit', { time_limit_ms: null }],
    ['is on its way to its runner', { dispatch: 'offered' }],
    ['was not named on this connection', { held_epoch: EPOCH - 1 }],
    ['has no runner', { runner_id: null }],
  ])('does not run for a job that %s', async (_, changes) => {
    const { add, limits, pass, row, told } = await made()
    const id = await add(changes)
    await limits.look()
    await pass(LIMIT_MS)
    expect(await row(id)).toMatchObject({ abort_requested: 0, ran_ms: 0, counted_at: null })
    expect(told).toEqual([])
  })

  test('stands still while the runner is away', async () => {
    const { add, limits, pass, row, state } = await made()
    const id = await add()
    await limits.look()
    await pass(MAX_BETWEEN_MS)
    state.epoch = EPOCH + 1
    await pass(LIMIT_MS)
    state.epoch = EPOCH
    await pass(MAX_BETWEEN_MS)
    expect(await row(id)).toMatchObject({ ran_ms: MAX_BETWEEN_MS, abort_requested: 0 })
  })

  test('is nothing for which anybody looks at the clock when no job has one', async () => {
    const { limits, add, state } = await made()
    await add({ time_limit_ms: null })
    await limits.look()
    expect(state.looks).toBe(0)
    await add()
    await limits.look()
    expect(state.looks).toBe(1)
  })

  test('leaves a job alone that ends, or that somebody aborts, while it is looked at', async () => {
    const { add, limits, pass, row, told, state, queries } = await made()
    const ending = await add()
    const aborted = await add()
    await limits.look()
    await pass(LIMIT_MS - 1)
    state.meanwhile = async () => {
      await queries.updateTable('job').set({ dispatch: 'done', status: 'success' }).where('id', '=', ending).execute()
      await queries.updateTable('job').set({ abort_requested: 1 }).where('id', '=', aborted).execute()
    }
    await pass(1)
    expect(await row(ending)).toMatchObject({ status: 'success', abort_requested: 0 })
    expect((await row(aborted)).abort_requested_by).toBeNull()
    expect(told).toEqual([])
  })

  test('is counted by one node where two look', async () => {
    const { add, limits, row, state, queries } = await made()
    const id = await add()
    await limits.look()
    const before = await row(id)
    state.now += MAX_BETWEEN_MS
    state.meanwhile = async () => {
      await queries.updateTable('job').set({ counted_at: state.now, ran_ms: 123 }).where('id', '=', id).execute()
    }
    await limits.look()
    expect(before.ran_ms).toBe(0)
    expect((await row(id)).ran_ms).toBe(123)
  })
})

describe('the time limit of a parent job', () => {
  test('runs while a playbook below it runs, however deep that is', async () => {
    const { add, limits, pass, row, told } = await made()
    const parent = { dispatch: 'driven', runner_id: null, held_epoch: null } as const
    const top = await add({ ...parent, job_type: 'workflow' })
    const middle = await add({ ...parent, job_type: 'multistep', parent_id: top, time_limit_ms: null })
    const playbook = await add({ parent_id: middle, time_limit_ms: null })
    await limits.look()
    await pass(LIMIT_MS)
    expect((await row(top)).abort_requested).toBe(1)
    expect((await row(middle)).abort_requested).toBe(0)
    expect((await row(playbook)).abort_requested).toBe(0)
    expect(told).toEqual(['changed jobs', `advance ${top}`])
  })

  test('runs beside that of its child job', async () => {
    const { add, limits, pass, row } = await made()
    const top = await add({ dispatch: 'driven', runner_id: null, held_epoch: null, job_type: 'workflow' })
    const child = await add({ parent_id: top, time_limit_ms: LIMIT_MS / 2 })
    await limits.look()
    await pass(LIMIT_MS / 2)
    expect([(await row(child)).abort_requested, (await row(top)).abort_requested]).toEqual([1, 0])
    expect((await row(top)).ran_ms).toBe(LIMIT_MS / 2)
  })

  test('stands still while nothing below it runs', async () => {
    const { add, limits, pass, row } = await made()
    const top = await add({ dispatch: 'driven', held_epoch: EPOCH, job_type: 'multistep' })
    await add({ parent_id: top, dispatch: 'queued', held_epoch: null, time_limit_ms: null })
    await add({ time_limit_ms: null })
    await limits.look()
    await pass(LIMIT_MS)
    expect(await row(top)).toMatchObject({ ran_ms: 0, abort_requested: 0 })
  })
})

describe('a look', () => {
  const waiting = { dispatch: 'parked', held_epoch: null, time_limit_ms: null, concurrency_group: 'g' } as const

  test('gives free places, and tells of that only then', async () => {
    const { add, limits, told, row } = await made()
    const first = await add({ ...waiting, concurrency_limit: 1 })
    const second = await add({ ...waiting, concurrency_limit: 1 })
    await limits.look()
    expect([(await row(first)).dispatch, (await row(second)).dispatch]).toEqual(['queued', 'parked'])
    expect(told).toEqual(['changed jobs', `queued for ${RUNNER}`])
    await limits.look()
    expect(told).toHaveLength(2)
  })

  test('comes every second, and soon when a job has ended, once for many', async () => {
    const { add, limits, held, told, row, queries, state } = await made()
    const first = await add({ ...waiting, concurrency_limit: 1 })
    held.move(LOOK_MS)
    await waitFor('the first look', async () => (await row(first)).dispatch === 'queued')
    const second = await add({ ...waiting, concurrency_limit: 1 })
    await queries.updateTable('job').set({ has_place: 0, dispatch: 'done' }).where('id', '=', first).execute()
    let writes = 0
    state.meanwhile = () => Promise.resolve(void (writes += 1))
    limits.jobEnded()
    limits.jobEnded()
    await waitFor('the place', async () => (await row(second)).dispatch === 'queued')
    await limits.close()
    expect(writes).toBe(1)
    expect(told).not.toContain('a failed look')
  })

  test('that was asked for comes again the next time', async () => {
    const { add, limits, row } = await made()
    for (const limit of [1, 2]) {
      const id = await add({ ...waiting, concurrency_limit: limit })
      limits.jobEnded()
      await waitFor('the place', async () => (await row(id)).dispatch === 'queued')
    }
    await limits.close()
  })

  test('does not come any more when a job ends after the close', async () => {
    const { add, limits, row, held } = await made()
    await limits.close()
    const id = await add({ ...waiting, concurrency_limit: 1 })
    limits.jobEnded()
    held.move(LOOK_MS)
    await limits.close()
    expect((await row(id)).dispatch).toBe('parked')
  })
})

test('a place is announced to the runner of the job, or to the sequences', () => {
  const told: string[] = []
  announceAdmitted(
    {
      runners: { jobQueued: (id) => void told.push(`runner ${id}`) },
      sequences: { advance: (id) => void told.push(`job ${id}`) },
    },
    [
      { id: 1, runnerId: 5 },
      { id: 2, runnerId: null },
    ],
  )
  expect(told).toEqual(['runner 5', 'job 2'])
})
