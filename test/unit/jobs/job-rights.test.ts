import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { actionsOf } from '../../../control-plane/src/jobs/detail/can.js'
import type { LaunchDependencies } from '../../../control-plane/src/jobs/launch/launch.js'
import { connectionsFor, detailOf, isConnected } from '../../../control-plane/src/jobs/read/connected.js'
import { awaitedApproval, decided } from '../../../control-plane/src/jobs/record/approval.js'
import { requireManageable, requireVisible } from '../../../control-plane/src/jobs/record/visibility.js'
import { requireRelaunchable } from '../../../control-plane/src/jobs/relaunch/relaunch.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertSequence } from '../../../control-plane/src/store/jobs/sequences.js'
import type { JobStatus } from '../../../control-plane/src/words/job-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { caller, form } from './launch-parts.js'

/** Who may see a job, change it, and do what with it; and what its row says of its runner. */
const ann: Caller = { ...caller, id: 1, username: 'ann', roles: [] }
const cem: Caller = { ...ann, id: 2, username: 'cem' }
const ops: Caller = { ...ann, id: 3, username: 'ben', roles: ['ops'] }
const reader: Caller = { ...cem, options: { ...cem.options, showAllJobLogs: true } }
const manager: Caller = { ...cem, options: { ...cem.options, manageAllJobs: true } }
const admin: Caller = { ...cem, isAdmin: true }

const APPROVAL = awaitedApproval(
  { title: null, message: null, roles: ['ops'], notifications: [], allowSelf: false },
  {},
  { manifest_sha256: null, form_sha256: null },
)
const WAITING = { status: 'approve', dispatch: 'parked', approval: JSON.stringify(APPROVAL) } as const

async function made() {
  const queries = await memoryDatabase()
  let runs = 0
  return {
    queries,
    /** A job of ann. */
    add: (job: Partial<NewJob> = {}): Promise<number> =>
      insertJob(queries, { ...queuedJob(5, String((runs += 1)).padStart(32, '0')), user_id: 1, ...job }),
  }
}

async function answerOf(check: () => Promise<unknown>): Promise<true | string> {
  try {
    await check()
    return true
  } catch (error) {
    if (error instanceof HoldfastError) return error.code
    throw error
  }
}

const given = (by: Caller) => JSON.stringify(decided(APPROVAL, 'approved', by, 1))

describe('a job', () => {
  test.each<[string, Caller, Partial<NewJob>, boolean, boolean]>([
    ['its owner', ann, {}, true, true],
    ['somebody else', cem, {}, false, false],
    ['somebody else of the same name', { ...cem, username: 'ann' }, {}, false, false],
    ['who sees all jobs', reader, {}, true, false],
    ['who manages all jobs', manager, {}, true, true],
    ['an admin', admin, {}, true, true],
    ['who may approve it', ops, WAITING, true, false],
    ['who may not approve it', cem, WAITING, false, false],
    ['who could have approved it', ops, { approval: given(cem) }, false, false],
    ['who has approved it', ops, { approval: given(ops) }, true, false],
  ])('%s may see and change it', async (_, who, job, sees, changes) => {
    const { queries, add } = await made()
    const id = await add(job)
    expect(await answerOf(() => requireVisible(queries, who, id))).toBe(sees || 'not_your_job')
    expect(await answerOf(() => requireManageable(queries, who, id))).toBe(changes || 'not_your_job')
  })

  test('that is not there is nobody’s', async () => {
    const { queries } = await made()
    expect(await answerOf(() => requireVisible(queries, admin, 99))).toBe('job_not_found')
    expect(await answerOf(() => requireManageable(queries, admin, 99))).toBe('job_not_found')
  })

  test('with steps is seen by who decided about one of them', async () => {
    const { queries, add } = await made()
    const parent = await add({ job_type: 'workflow', dispatch: 'driven' })
    await insertSequence(queries, parent, { plan: '{}', nodes: ['one', 'two'] })
    const see = (who: Caller) => answerOf(() => requireVisible(queries, who, parent))
    expect([await see(ops), await see(cem)]).toEqual(['not_your_job', 'not_your_job'])
    const approval = given(ops)
    await queries.updateTable('sequence_node').set({ approval }).where('identifier', '=', 'two').execute()
    expect([await see(ops), await see(cem)]).toEqual([true, 'not_your_job'])
    // A job of another kind has no nodes about which anybody could decide.
    const plain: object = { job_type: 'ansible' }
    await queries.updateTable('job').set(plain).where('id', '=', parent).execute()
    expect(await see(ops)).toBe('not_your_job')
  })
})

describe('what a caller may do with a job', () => {
  const asks = (queries: Awaited<ReturnType<typeof memoryDatabase>>, formParts: object = {}) =>
    ({
      store: { read: queries },
      forms: { find: () => Promise.resolve(form({ roles: ['public'], ...formParts })) },
      sequences: {},
    }) as unknown as LaunchDependencies
  const relauncher: Caller = { ...ann, options: { ...ann.options, allowJobRelaunch: true } }

  async function can(who: Caller, job: Partial<NewJob>, formParts: object = {}) {
    const { queries, add } = await made()
    const row = await findJob(queries, await add(job))
    if (!row) throw new Error('the job is gone')
    return actionsOf(asks(queries, formParts), who, row)
  }

  test('has an answer for each action', async () => {
    const all = ['abort', 'abort_abandoned', 'approve', 'reject', 'relaunch', 'delete']
    expect(Object.keys(await can(ann, {}))).toEqual(all)
  })

  test.each<[string, Caller, Partial<NewJob>, Awaited<ReturnType<typeof can>>]>([
    [
      'their own that runs',
      relauncher,
      {},
      {
        abort: true,
        abort_abandoned: 'not_abandoned',
        approve: 'not_waiting',
        reject: 'not_waiting',
        relaunch: 'not_ended',
        delete: 'not_ended',
      },
    ],
    [
      'their own that has ended',
      relauncher,
      { status: 'success', dispatch: 'done' },
      {
        abort: 'not_running',
        abort_abandoned: 'not_abandoned',
        approve: 'not_waiting',
        reject: 'not_waiting',
        relaunch: true,
        delete: true,
      },
    ],
    [
      'their own that was abandoned',
      relauncher,
      { status: 'abandoned' },
      {
        abort: 'not_running',
        abort_abandoned: true,
        approve: 'not_waiting',
        reject: 'not_waiting',
        relaunch: true,
        delete: true,
      },
    ],
    [
      'their own abandoned one with an abort',
      ann,
      { status: 'abandoned', abort_requested: 1 },
      {
        abort: 'not_running',
        abort_abandoned: 'abort_pending',
        approve: 'not_waiting',
        reject: 'not_waiting',
        relaunch: 'relaunch_not_allowed',
        delete: true,
      },
    ],
    [
      'their own that waits',
      relauncher,
      WAITING,
      {
        abort: 'not_running',
        abort_abandoned: 'not_abandoned',
        approve: 'not_an_approver',
        reject: true,
        relaunch: 'not_ended',
        delete: 'not_ended',
      },
    ],
    [
      'one of somebody else that waits for them',
      ops,
      WAITING,
      {
        abort: 'not_your_job',
        abort_abandoned: 'not_your_job',
        approve: true,
        reject: true,
        relaunch: 'not_your_job',
        delete: 'not_your_job',
      },
    ],
  ])('%s', async (_, who, job, expected) => {
    expect(await can(who, job)).toEqual(expected)
  })

  test.each<[string, Caller, object, string]>([
    ['its form forbids it', relauncher, { allowRelaunch: false }, 'form_forbids_relaunch'],
    ['its form is not for them', relauncher, { roles: ['others'] }, 'form_not_allowed'],
    ['they are an admin whose form forbids it', admin, { allowRelaunch: false }, 'form_forbids_relaunch'],
  ])('a job cannot run again when %s', async (_, who, formParts, code) => {
    expect(await can(who, { status: 'success', dispatch: 'done' }, formParts)).toMatchObject({ relaunch: code })
  })

  test('says nothing about a fault of the service', async () => {
    const { queries, add } = await made()
    const row = await findJob(queries, await add())
    if (!row) throw new Error('the job is gone')
    const broken = { ...asks(queries), forms: { find: () => Promise.reject(new Error('a fault')) } }
    await expect(actionsOf(broken as unknown as LaunchDependencies, relauncher, row)).rejects.toThrow('a fault')
  })

  test('a child job never runs alone, and a job without an end not yet', async () => {
    const { queries, add } = await made()
    const check = async (job: Partial<NewJob>) => {
      const row = await findJob(queries, await add(job))
      return answerOf(() => Promise.resolve(row && requireRelaunchable(row)))
    }
    const parent = await add()
    expect(await check({ status: 'success', dispatch: 'done', parent_id: parent })).toBe('part_of_a_job')
    expect(await check({ status: 'running' })).toBe('not_ended')
    expect(await check({ status: 'abandoned' })).toBe(true)
    expect(await check({ status: 'failed', dispatch: 'done' })).toBe(true)
  })
})

describe('the runner of a job', () => {
  const HELD = { status: 'running', runner_id: 5, runner_name: 'one', held_epoch: 3, detail: null, abort_requested: 0 }
  const here = new Map([[5, 3]])

  test.each<[string, object, boolean]>([
    ['it named the job on this connection', {}, true],
    ['it is back, and the job was abandoned', { status: 'abandoned' }, true],
    ['it named the job on an earlier connection', { held_epoch: 2 }, false],
    ['it never named the job', { held_epoch: null }, false],
    ['it is another one', { runner_id: 6 }, false],
    ['there is none', { runner_id: null }, false],
    ['the job has ended', { status: 'success' }, false],
  ])('has it when %s', (_, changes, has) => {
    expect(isConnected({ ...HELD, ...changes }, here)).toBe(has)
  })

  test('is asked for once for all its jobs, and not for those that no runner can have', async () => {
    const asked: (readonly number[])[] = []
    const presence = {
      connectionsOf(ids: readonly number[]) {
        asked.push(ids)
        return Promise.resolve(here)
      },
    }
    const nobody = [
      { ...HELD, held_epoch: null },
      { ...HELD, runner_id: null },
      { ...HELD, status: 'failed' },
    ]
    expect(await connectionsFor(presence, nobody)).toEqual(new Map())
    expect(asked).toEqual([])
    const jobs = [HELD, HELD, { ...HELD, runner_id: 6 }, ...nobody]
    expect(await connectionsFor(presence, jobs)).toBe(here)
    expect(asked).toEqual([[5, 6]])
  })

  const LOST = { ...HELD, status: 'abandoned' as JobStatus }
  const BACK = "the runner 'one' is connected and still has this job"
  const AWAY = { held_epoch: 2 }
  test.each<[object, string | null]>([
    [{ status: 'running', detail: 'a word', abort_requested: 1 }, 'a word'],
    [{ status: 'failed' }, null],
    [AWAY, null],
    [{ ...AWAY, detail: 'a word' }, 'a word'],
    [{}, BACK],
    [{ detail: 'a word' }, `a word; ${BACK}`],
    [{ abort_requested: 1 }, `${BACK}; its abort was asked for`],
    [{ ...AWAY, abort_requested: 1 }, 'its abort was asked for and waits for the runner to connect'],
  ])('is told of with an abandoned job, beside its own detail: %j', (changes, detail) => {
    expect(detailOf({ ...LOST, ...changes }, here)).toBe(detail)
  })
})
