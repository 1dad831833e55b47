import { describe, expect, test } from 'vitest'
import {
  findAskedAborts,
  findHeldJobs,
  findJobOfKey,
  findJobsOfKey,
  findJobsOfRuns,
  findOffered,
  findRunnersWaitedFor,
  findRunnersWithRunningJobs,
  findWaiting,
  findWaitingWithoutLine,
  markClaimed,
  noteHolder,
  noteOlderCopy,
  ownKeys,
  requeue,
  setWaitUntil,
  takeOverJobs,
  takeQueued,
} from '../../../control-plane/src/store/jobs/dispatch.js'
import { findStages } from '../../../control-plane/src/store/jobs/job-stages.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import {
  findGroupsWaitedFor,
  findPlaceHolders,
  findPlaceWaiters,
  givePlace,
} from '../../../control-plane/src/store/jobs/places.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { DISPATCHES } from '../../../control-plane/src/words/job-dispatch.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'

const RUNNER = 7
const KEY = 'aa'

let runs = 0
const put = (queries: Queries, job: Partial<NewJob> = {}) =>
  insertJob(queries, { ...queuedJob(RUNNER, String((runs += 1)).padStart(32, '0')), ...job })

/** One job for each place on the way to a runner, by the place. */
async function jobInEachPlace(queries: Queries, job: Partial<NewJob> = {}): Promise<Map<number, string>> {
  const places = new Map<number, string>()
  for (const dispatch of DISPATCHES) places.set(await put(queries, { dispatch, runner_key: KEY, ...job }), dispatch)
  return places
}

describe('which jobs are found by their place on the way to a runner', () => {
  const HELD = ['offered', 'claimed']

  test.each<[string, readonly string[], (queries: Queries, ids: readonly number[]) => Promise<readonly number[]>]>([
    ['jobs of a key', HELD, async (queries) => (await findJobsOfKey(queries, KEY)).map(({ id }) => id)],
    ['jobs of another key', [], async (queries) => (await findJobsOfKey(queries, 'bb')).map(({ id }) => id)],
    [
      'jobs that the runner of a row has',
      HELD,
      async (queries) => (await findHeldJobs(queries, RUNNER)).map(({ id }) => id),
    ],
    ['jobs that another runner has', [], async (queries) => (await findHeldJobs(queries, 8)).map(({ id }) => id)],
    [
      'one job of a key',
      HELD,
      async (queries, ids) => {
        const found = await Promise.all(ids.map((id) => findJobOfKey(queries, KEY, id)))
        return found.flatMap((job) => (job ? [job.id] : []))
      },
    ],
    [
      'one job of another key',
      [],
      async (queries, ids) => {
        const found = await Promise.all(ids.map((id) => findJobOfKey(queries, 'bb', id)))
        return found.flatMap((job) => (job ? [job.id] : []))
      },
    ],
    ['jobs that wait', ['queued'], async (queries) => (await findWaiting(queries, RUNNER, null)).map(({ id }) => id)],
    [
      'jobs whose output does not say that they wait',
      ['queued'],
      async (queries) => (await findWaitingWithoutLine(queries, RUNNER)).map(({ id }) => id),
    ],
    ['jobs on their way', ['offered'], async (queries) => (await findOffered(queries)).get(RUNNER) ?? []],
    ['jobs whose abort was asked for', HELD, async (queries) => (await findAskedAborts(queries)).map(({ id }) => id)],
    [
      'jobs that have a place in a group',
      ['parked', 'queued', 'offered', 'claimed', 'driven'],
      (queries) => findPlaceHolders(queries, 'group'),
    ],
    [
      'jobs that wait for a place in a group',
      ['parked'],
      async (queries) => (await findPlaceWaiters(queries, 'group')).map(({ id }) => id),
    ],
  ])('%s: %j', async (_what, places, find) => {
    const queries = await memoryDatabase()
    const placeOf = await jobInEachPlace(queries, { abort_requested: 1, concurrency_group: 'group', has_place: 1 })
    await jobInEachPlace(queries, { runner_id: null, runner_key: null })
    const found = await find(queries, [...placeOf.keys()])
    const others = found.filter((id) => !placeOf.has(id))
    expect(others).toEqual([])
    expect([...placeOf].flatMap(([id, place]) => (found.includes(id) ? [place] : []))).toEqual(places)
  })

  test.each<[string, readonly string[], (queries: Queries) => Promise<readonly unknown[]>]>([
    ['runners that jobs wait for', ['queued'], findRunnersWaitedFor],
    ['runners with jobs that run', ['offered', 'claimed'], findRunnersWithRunningJobs],
  ])('%s: %j', async (_what, places, find) => {
    for (const dispatch of DISPATCHES) {
      const queries = await memoryDatabase()
      await put(queries, { dispatch })
      await put(queries, { dispatch })
      await put(queries, { dispatch, runner_id: null })
      expect([dispatch, await find(queries)]).toEqual([dispatch, places.includes(dispatch) ? [RUNNER] : []])
    }
  })

  test('groups that jobs wait in: only those of parked jobs that run', async () => {
    const queries = await memoryDatabase()
    for (const dispatch of DISPATCHES) await put(queries, { dispatch, concurrency_group: dispatch })
    await put(queries, { dispatch: 'parked', concurrency_group: 'approval', status: 'approve' })
    await put(queries, { dispatch: 'parked', concurrency_group: null })
    expect(await findGroupsWaitedFor(queries)).toEqual(['parked'])
  })

  test('a job that is not running any more does not count for its runner', async () => {
    const queries = await memoryDatabase()
    await put(queries, { dispatch: 'claimed', status: 'abandoned' })
    expect(await findRunnersWithRunningJobs(queries)).toEqual([])
  })

  test('jobs of runs are found whatever their place is, and none for no run', async () => {
    const queries = await memoryDatabase()
    const ids = [...(await jobInEachPlace(queries, { run_id: 'one' })).keys()]
    await put(queries, { run_id: 'other' })
    expect((await findJobsOfRuns(queries, ['one'])).map(({ id }) => id).toSorted((one, other) => one - other)).toEqual(
      ids,
    )
    expect(await findJobsOfRuns(queries, [])).toEqual([])
  })
})

describe('jobs on their way', () => {
  test('are grouped by their runners', async () => {
    const queries = await memoryDatabase()
    const ids = [
      await put(queries, { dispatch: 'offered' }),
      await put(queries, { dispatch: 'offered', runner_id: 8 }),
      await put(queries, { dispatch: 'offered' }),
    ]
    await put(queries, { dispatch: 'offered', runner_id: null })
    expect(await findOffered(queries)).toEqual(
      new Map([
        [RUNNER, [ids[0], ids[2]]],
        [8, [ids[1]]],
      ]),
    )
  })

  test('are taken from the queue of their runner, the oldest first, and each is noted', async () => {
    const queries = await memoryDatabase()
    const ids = [await put(queries), await put(queries), await put(queries)]
    await put(queries, { runner_id: 8 })
    await put(queries, { status: 'abandoned' })
    await put(queries, { dispatch: 'parked' })
    expect(await takeQueued(queries, 9, KEY, 2, 5)).toEqual([])
    expect((await takeQueued(queries, RUNNER, KEY, 2, 5)).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect((await takeQueued(queries, RUNNER, 'bb', 2, 6)).map(({ id }) => id)).toEqual(ids.slice(2))
    const jobs = await Promise.all(ids.map((id) => findJob(queries, id)))
    expect(jobs.map((job) => [job?.dispatch, job?.runner_key])).toEqual([
      ['offered', KEY],
      ['offered', KEY],
      ['offered', 'bb'],
    ])
    expect(await findStages(queries, ids[0] ?? 0)).toEqual([
      { state: 'queued', since: 1, until: null },
      { state: 'offered', since: 5, until: null },
    ])
  })

  test.each(DISPATCHES)('go back to the queue only when they were offered: from %s', async (dispatch) => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch })
    const stages = (await findStages(queries, id)).length
    await requeue(queries, id, 9)
    expect((await findJob(queries, id))?.dispatch).toBe(dispatch === 'offered' ? 'queued' : dispatch)
    expect((await findStages(queries, id)).slice(stages)).toEqual(
      dispatch === 'offered' ? [{ state: 'queued', since: 9, until: null }] : [],
    )
  })

  test('do not go back to the queue when they have ended', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch: 'offered', status: 'abandoned' })
    await requeue(queries, id, 9)
    expect((await findJob(queries, id))?.dispatch).toBe('offered')
  })

  test.each(DISPATCHES)('are claimed on a connection, which is noted once: from %s', async (dispatch) => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch })
    const stages = (await findStages(queries, id)).length
    await markClaimed(queries, id, 4, 9)
    await markClaimed(queries, id, 5, 10)
    const isClaimed = ['queued', 'offered', 'claimed'].includes(dispatch)
    expect(await findJob(queries, id)).toMatchObject(
      isClaimed ? { dispatch: 'claimed', held_epoch: 5 } : { dispatch, held_epoch: null },
    )
    expect((await findStages(queries, id)).slice(stages)).toEqual(
      isClaimed && dispatch !== 'claimed' ? [{ state: 'claimed', since: 9, until: null }] : [],
    )
  })
})

describe('the time until which a job may wait', () => {
  test('is set once, and only while the job waits', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries)
    expect([await setWaitUntil(queries, id, 50), await setWaitUntil(queries, id, 60)]).toEqual([true, false])
    expect((await findJob(queries, id))?.wait_until).toBe(50)
    expect(await findWaitingWithoutLine(queries, RUNNER)).toEqual([])
    const other = await put(queries, { dispatch: 'offered' })
    expect(await setWaitUntil(queries, other, 50)).toBe(false)
    expect((await findJob(queries, other))?.wait_until).toBeNull()
  })

  test('is over at that very moment', async () => {
    const queries = await memoryDatabase()
    for (const time of [50, 51, null]) await put(queries, { wait_until: time })
    expect((await findWaiting(queries, RUNNER, 50)).map((job) => job.wait_until)).toEqual([50])
    expect((await findWaiting(queries, RUNNER, 49)).map((job) => job.wait_until)).toEqual([])
    expect((await findWaiting(queries, RUNNER, null)).map((job) => job.wait_until)).toEqual([50, 51, null])
  })
})

describe('the keys of a runner', () => {
  const runner = (
    queries: Queries,
    id: number,
    fingerprint: string,
    state: 'approved' | 'revoked' | 'denied' | 'pending',
  ) =>
    queries
      .insertInto('runner')
      .values({ ...RUNNER_ROW, id, fingerprint, state: state as 'approved', name: `runner ${id}` })
      .execute()

  test('are its own without those that another approved or revoked runner has today', async () => {
    const queries = await memoryDatabase()
    await runner(queries, RUNNER, 'own', 'approved')
    await runner(queries, 8, 'approved', 'approved')
    await runner(queries, 9, 'revoked', 'revoked')
    await runner(queries, 10, 'denied', 'denied')
    const keys = ['today', 'own', 'approved', 'revoked', 'denied', 'nobody'] as const
    expect(await ownKeys(queries, { runnerId: RUNNER, keys })).toEqual(['today', 'own', 'denied', 'nobody'])
    // Today's key is its own whatever is stored.
    expect(await ownKeys(queries, { runnerId: RUNNER, keys: ['approved'] })).toEqual(['approved'])
  })

  test('give it the jobs that were offered to them or claimed by them', async () => {
    const queries = await memoryDatabase()
    const placeOf = await jobInEachPlace(queries, { runner_id: 3, runner_key: 'old' })
    await takeOverJobs(queries, { runnerId: RUNNER, keys: ['new', 'old'] })
    const rows = await queries.selectFrom('job').select(['id', 'runner_id', 'runner_key']).orderBy('id').execute()
    for (const row of rows) {
      const isTaken = ['offered', 'claimed'].includes(placeOf.get(row.id) ?? '')
      expect([row.runner_id, row.runner_key]).toEqual(isTaken ? [RUNNER, 'new'] : [3, 'old'])
    }
  })

  test.each([
    ['that has no row', { runner_id: null, runner_key: 'new' }],
    ['that has another row', { runner_id: 3, runner_key: 'new' }],
    ['that has an older key', { runner_id: RUNNER, runner_key: 'old' }],
  ])('give it a job %s', async (_what, job) => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch: 'claimed', ...job })
    await takeOverJobs(queries, { runnerId: RUNNER, keys: ['new', 'old'] })
    expect(await findJob(queries, id)).toMatchObject({ runner_id: RUNNER, runner_key: 'new' })
  })
})

test('the holder of a job is noted only when none was known', async () => {
  const queries = await memoryDatabase()
  const unknown = await put(queries, { runner_key: null, runner_id: null })
  const known = await put(queries, { runner_key: 'bb', runner_id: 8 })
  for (const id of [unknown, known]) await noteHolder(queries, id, { runnerId: RUNNER, keys: [KEY, 'cc'] })
  expect(await findJob(queries, unknown)).toMatchObject({ runner_id: RUNNER, runner_key: KEY })
  expect(await findJob(queries, known)).toMatchObject({ runner_id: 8, runner_key: 'bb' })
})

test('who accepted the older copy of a job is noted and forgotten', async () => {
  const queries = await memoryDatabase()
  const [id, other] = [await put(queries), await put(queries)]
  await noteOlderCopy(queries, id, 'ann')
  expect((await findJob(queries, id))?.older_copy).toBe('ann')
  expect((await findJob(queries, other))?.older_copy).toBeNull()
  await noteOlderCopy(queries, id, null)
  expect((await findJob(queries, id))?.older_copy).toBeNull()
})

test.each(DISPATCHES)('a job gets its place in a group only when it is parked: from %s', async (dispatch) => {
  const queries = await memoryDatabase()
  const id = await put(queries, { dispatch })
  const stages = (await findStages(queries, id)).length
  await givePlace(queries, id, 'queued', 9)
  const isGiven = dispatch === 'parked'
  expect(await findJob(queries, id)).toMatchObject({
    dispatch: isGiven ? 'queued' : dispatch,
    has_place: isGiven ? 1 : 0,
  })
  expect((await findStages(queries, id)).slice(stages)).toEqual(
    isGiven ? [{ state: 'queued', since: 9, until: null }] : [],
  )
})
