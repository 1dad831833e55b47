import { describe, expect, test } from 'vitest'
import {
  countAwaitedApprovals,
  insertAwaitedApproval,
  listAwaitingJobs,
  updateApproval,
} from '../../../control-plane/src/store/jobs/approvals.js'
import { findStages, noteAbsence, noteStage } from '../../../control-plane/src/store/jobs/job-stages.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import {
  findChildrenUnderWay,
  findLimitedJob,
  findLimitedJobs,
  noteRunTime,
} from '../../../control-plane/src/store/jobs/time-limits.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { DISPATCHES } from '../../../control-plane/src/words/job-dispatch.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let runs = 0
const put = (queries: Queries, job: Partial<NewJob> = {}) =>
  insertJob(queries, { ...queuedJob(7, String((runs += 1)).padStart(32, '0')), ...job })

describe('jobs with a time limit', () => {
  test.each(DISPATCHES)('count while a runner has them or their child jobs: %s', async (dispatch) => {
    const queries = await memoryDatabase()
    const parent = await put(queries, { dispatch: 'driven' })
    const id = await put(queries, { dispatch, time_limit_ms: 1000, parent_id: parent })
    const none = await put(queries, { dispatch })
    const asked = await put(queries, { dispatch, time_limit_ms: 1000, abort_requested: 1 })
    const expected = dispatch === 'claimed' || dispatch === 'driven' ? [id] : []
    expect((await findLimitedJobs(queries)).map((job) => job.id)).toEqual(expected)
    const one = await Promise.all([id, none, asked].map((each) => findLimitedJob(queries, each)))
    expect(one.flatMap((job) => (job ? [job.id] : []))).toEqual(expected)
    expect((await findChildrenUnderWay(queries, [parent])).map((job) => job.id)).toEqual(expected)
    expect(await findChildrenUnderWay(queries, [id])).toEqual([])
    expect(await findChildrenUnderWay(queries, [])).toEqual([])
  })

  test('have their own time', async () => {
    const queries = await memoryDatabase()
    const ids = [await put(queries), await put(queries)] as const
    await noteRunTime(queries, ids[0], 500, 1000)
    expect(await findJob(queries, ids[0])).toMatchObject({ ran_ms: 500, counted_at: 1000 })
    expect(await findJob(queries, ids[1])).toMatchObject({ ran_ms: 0, counted_at: null })
  })
})

describe('an absence of a runner', () => {
  const absences = async (queries: Queries, id: number) =>
    (await findStages(queries, id)).filter(({ state }) => state === 'lost')

  test.each(DISPATCHES)('is noted with the jobs that it has: %s', async (dispatch) => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch })
    const other = await put(queries, { dispatch, runner_id: 8 })
    await noteAbsence(queries, 7, 1000, 2000)
    const expected = dispatch === 'claimed' ? [{ state: 'lost', since: 1000, until: 2000 }] : []
    expect(await absences(queries, id)).toEqual(expected)
    expect(await absences(queries, other)).toEqual([])
  })

  test('is noted from a second on', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch: 'claimed' })
    await noteAbsence(queries, 7, 1000, 1999)
    expect(await absences(queries, id)).toHaveLength(0)
    await noteAbsence(queries, 7, 1000, 2000)
    expect(await absences(queries, id)).toHaveLength(1)
  })

  test('is noted 200 times for one job', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, { dispatch: 'claimed' })
    for (let count = 0; count < 201; count += 1) await noteAbsence(queries, 7, 1000, 3000)
    expect(await absences(queries, id)).toHaveLength(200)
  })
})

test('places of jobs are noted for all of them, and the end is none', async () => {
  const queries = await memoryDatabase()
  const ids = [await put(queries, { dispatch: 'done' }), await put(queries, { dispatch: 'done' })]
  await noteStage(queries, [], 'queued', 5)
  await noteStage(queries, ids, 'done', 5)
  await noteStage(queries, ids, 'driven', 6)
  for (const id of ids) expect(await findStages(queries, id)).toEqual([{ state: 'running', since: 6, until: null }])
})

describe('jobs that wait for an approval', () => {
  async function waiting() {
    const queries = await memoryDatabase()
    const wait = { status: 'approve', dispatch: 'parked' } as const
    const ids = {
      ops: await put(queries, { ...wait, user_id: 1 }),
      self: await put(queries, { ...wait, user_id: 1, runner_name: 'eight' }),
      nobody: await put(queries, { ...wait, user_id: null, user_name: 'gone' }),
      dev: await put(queries, { ...wait, user_id: 2 }),
      none: await put(queries, wait),
      running: await put(queries),
    }
    await insertAwaitedApproval(queries, ids.ops, { roles: ['ops', 'ops', 'dev'], allowSelf: false })
    await insertAwaitedApproval(queries, ids.self, { roles: ['ops'], allowSelf: true })
    await insertAwaitedApproval(queries, ids.nobody, { roles: ['ops'], allowSelf: false })
    await insertAwaitedApproval(queries, ids.dev, { roles: ['dev'], allowSelf: false })
    await insertAwaitedApproval(queries, ids.none, { roles: [], allowSelf: false })
    return { queries, ids }
  }

  test.each([
    ['an admin: all', null, ['none', 'dev', 'nobody', 'self', 'ops']],
    ['another one with a role', { id: 9, roles: ['ops'] }, ['nobody', 'self', 'ops']],
    ['another one with all roles, each job once', { id: 9, roles: ['ops', 'dev'] }, ['dev', 'nobody', 'self', 'ops']],
    ['the user of some: own ones only if the approval allows it', { id: 1, roles: ['ops'] }, ['nobody', 'self']],
    ['somebody with other roles', { id: 9, roles: ['other'] }, []],
  ] as const)('are counted and listed for %s', async (_what, giver, names) => {
    const { queries, ids } = await waiting()
    expect(await countAwaitedApprovals(queries, giver)).toBe(names.length)
    const listed = await listAwaitingJobs(queries, giver, {}, 10)
    expect(listed.map(({ id }) => id)).toEqual(names.map((name) => ids[name]))
    expect((await listAwaitingJobs(queries, giver, {}, 1)).map(({ id }) => id)).toEqual(
      names.slice(0, 1).map((name) => ids[name]),
    )
    expect((await listAwaitingJobs(queries, giver, {}, 10, ids.self)).map(({ id }) => id)).toEqual(
      names.filter((name) => ids[name] > ids.self).map((name) => ids[name]),
    )
  })

  test('are listed of one user, or of one runner', async () => {
    const { queries, ids } = await waiting()
    const of = async (filter: Parameters<typeof listAwaitingJobs>[2]) =>
      (await listAwaitingJobs(queries, null, filter, 10)).map(({ id }) => id)
    expect(await of({ user: { type: 'local', name: 'gone' } })).toEqual([ids.nobody])
    expect(await of({ user: { type: 'ldap', name: 'gone' } })).toEqual([])
    expect(await of({ runner: 'eight' })).toEqual([ids.self])
  })

  test('have their approval for themselves', async () => {
    const { queries, ids } = await waiting()
    await updateApproval(queries, ids.ops, '{"title":"x"}')
    expect((await findJob(queries, ids.ops))?.approval).toBe('{"title":"x"}')
    expect((await findJob(queries, ids.dev))?.approval).toBeNull()
  })
})
