import { describe, expect, test } from 'vitest'
import { insertAwaitedApproval } from '../../../control-plane/src/store/jobs/approvals.js'
import { findStages } from '../../../control-plane/src/store/jobs/job-stages.js'
import {
  addDetail,
  deleteJob,
  findJob,
  findJobSummary,
  moveJob,
  requestAbort,
} from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { findPastRuns } from '../../../control-plane/src/store/jobs/orphans.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { DISPATCHES } from '../../../control-plane/src/words/job-dispatch.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let runs = 0
const put = (queries: Queries, job: Partial<NewJob> = {}) =>
  insertJob(queries, { ...queuedJob(7, String((runs += 1)).padStart(32, '0')), start_time: 100, ...job })
const ended = { status: 'success', dispatch: 'done', end_time: 200 } as const

const count = async (queries: Queries, table: 'job' | 'job_secret' | 'awaited_approval' | 'notification_event') => {
  const { rows } = await queries
    .selectFrom(table)
    .select((all) => all.fn.countAll<number>().as('rows'))
    .executeTakeFirstOrThrow()
  return rows
}
const withSecret = (queries: Queries, id: number) =>
  queries
    .insertInto('job_secret')
    .values({ job_id: id, sealed: Buffer.from('x'), names: '[]' })
    .execute()
/** Somebody who gets a notification about every end. */
const withTarget = (queries: Queries) =>
  queries
    .insertInto('notification_target')
    .values({
      name: 'chat',
      kind: 'webhook',
      url: 'https://chat',
      secret: Buffer.from('x'),
      events: '[]',
      enabled: 1,
      created_at: 1,
      created_by: 'ann',
    })
    .execute()

describe('a move of a job', () => {
  test('is done when its status is one of those before, and is told in the order of time', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries)
    const move = { from: ['running'], to: 'success', time: 300, reason: 'good', changes: { end_time: 250 } } as const
    expect(await moveJob(queries, id, move)).toBe(true)
    expect(await moveJob(queries, id, { ...move, to: 'failed' })).toBe(false)
    expect(await findJob(queries, id)).toMatchObject({ status: 'success', status_reason: 'good', end_time: 250 })
    expect(await queries.selectFrom('job_transition').selectAll().execute()).toEqual([
      { job_id: id, time: 300, from_status: 'running', to_status: 'success', reason: 'good' },
    ])
    expect(await moveJob(queries, id + 1, move)).toBe(false)
  })

  test('ends a job not before its start, also when a clock was set back', async () => {
    const queries = await memoryDatabase()
    for (const [end, stored] of [
      [99, 100],
      [100, 100],
      [101, 101],
    ] as const) {
      const id = await put(queries)
      await moveJob(queries, id, {
        from: ['running'],
        to: 'failed',
        time: 1,
        reason: null,
        changes: { end_time: end, dispatch: 'done' },
      })
      expect((await findJob(queries, id))?.end_time).toBe(stored)
    }
  })

  test('keeps the detail, or sets it, or removes it', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, { detail: 'no events' })
    const detail = async () => (await findJob(queries, id))?.detail
    await moveJob(queries, id, { from: ['running'], to: 'abandoned', time: 1, reason: null })
    expect(await detail()).toBe('no events')
    await moveJob(queries, id, { from: ['abandoned'], to: 'failed', time: 1, reason: null, detail: null })
    expect(await detail()).toBeNull()
  })

  test('removes its secrets at its end, and only then', async () => {
    const queries = await memoryDatabase()
    const [one, other] = [await put(queries, { status: 'approve', dispatch: 'parked' }), await put(queries)]
    for (const id of [one, other]) await withSecret(queries, id)
    await moveJob(queries, one, {
      from: ['approve'],
      to: 'running',
      time: 1,
      reason: null,
      changes: { dispatch: 'queued' },
    })
    expect(await count(queries, 'job_secret')).toBe(2)
    await moveJob(queries, one, { from: ['running'], to: 'success', time: 1, reason: null, changes: { end_time: 1 } })
    expect(await queries.selectFrom('job_secret').select('job_id').execute()).toEqual([{ job_id: other }])
  })

  test('takes it from those who may give its approval, and no other job', async () => {
    const queries = await memoryDatabase()
    const jobs = [
      await put(queries, { status: 'approve', dispatch: 'parked' }),
      await put(queries, { status: 'approve', dispatch: 'parked' }),
      await put(queries),
    ] as const
    for (const id of jobs) await insertAwaitedApproval(queries, id, { roles: ['ops', 'dev', 'ops'], allowSelf: false })
    await moveJob(queries, jobs[2], { from: ['running'], to: 'abandoned', time: 1, reason: null })
    expect(await count(queries, 'awaited_approval')).toBe(6)
    await moveJob(queries, jobs[0], { from: ['approve'], to: 'rejected', time: 1, reason: null })
    const left = await queries.selectFrom('awaited_approval').select('job_id').distinct().orderBy('job_id').execute()
    expect(left).toEqual([{ job_id: jobs[1] }, { job_id: jobs[2] }])
  })

  test('notes where the job is now, if that changes', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries)
    await moveJob(queries, id, {
      from: ['running'],
      to: 'approve',
      time: 5,
      reason: null,
      changes: { dispatch: 'parked' },
    })
    await moveJob(queries, id, { from: ['approve'], to: 'rejected', time: 6, reason: null })
    expect(await findStages(queries, id)).toEqual([
      { state: 'queued', since: 100, until: null },
      { state: 'waiting', since: 5, until: null },
    ])
  })

  test('notes its end for notifications, and no other move', async () => {
    const queries = await memoryDatabase()
    await withTarget(queries)
    const id = await put(queries)
    await moveJob(queries, id, {
      from: ['running'],
      to: 'approve',
      time: 5,
      reason: null,
      changes: { dispatch: 'parked' },
    })
    expect(await count(queries, 'notification_event')).toBe(0)
    await moveJob(queries, id, { from: ['approve'], to: 'aborted', time: 6, reason: 'no', changes: { end_time: 6 } })
    const [event] = await queries.selectFrom('notification_event').selectAll().execute()
    expect(event).toMatchObject({ kind: 'job', at: 6 })
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ what: 'ended' })
  })
})

test('the details of a job are added one behind the other', async () => {
  const queries = await memoryDatabase()
  const [id, other] = [await put(queries), await put(queries)]
  await addDetail(queries, id, 'one')
  await addDetail(queries, id, 'two')
  await addDetail(queries, other + 1, 'nobody')
  expect((await findJob(queries, id))?.detail).toBe('one; two')
  expect((await findJob(queries, other))?.detail).toBeNull()
})

test.each(JOB_STATUSES)('the abort of a job is asked for once, while it runs: %s', async (status) => {
  const queries = await memoryDatabase()
  const id = await put(queries, { status })
  const isFirst = status === 'running'
  expect(await requestAbort(queries, id, 'ann')).toBe(isFirst)
  expect(await requestAbort(queries, id, 'bob')).toBe(false)
  expect(await requestAbort(queries, id, 'cleo', ['running', 'abandoned'])).toBe(status === 'abandoned')
  const by = { running: 'ann', abandoned: 'cleo' } as const
  expect(await findJobSummary(queries, id)).toMatchObject({
    abort_requested: status in by ? 1 : 0,
    abort_requested_by: status === 'running' || status === 'abandoned' ? by[status] : null,
  })
})

describe('the deletion of a job', () => {
  test.each(JOB_STATUSES)('is for one that has ended: %s', async (status) => {
    const queries = await memoryDatabase()
    const id = await put(queries, { status, end_time: 200 })
    const isEnded = status !== 'running' && status !== 'approve'
    expect(await deleteJob(queries, id, { time: 300 })).toBe(isEnded)
    expect(await count(queries, 'job')).toBe(isEnded ? 0 : 1)
    expect(await deleteJob(queries, id + 1, { time: 300 })).toBe(false)
  })

  test('takes its child jobs and theirs, and no other', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, ended)
    const other = await put(queries, ended)
    const child = await put(queries, { ...ended, parent_id: id })
    await put(queries, { ...ended, parent_id: child })
    expect(await deleteJob(queries, id, { time: 300 })).toBe(true)
    expect(await queries.selectFrom('job').select('id').execute()).toEqual([{ id: other }])
  })

  test.each([
    ['a child job', ended, { status: 'running', dispatch: 'claimed' } as const],
    ['its parent job', { status: 'running', dispatch: 'driven' } as const, ended],
  ])('waits for %s that goes on', async (_what, above, below) => {
    const queries = await memoryDatabase()
    const parent = await put(queries, above)
    const child = await put(queries, { ...below, parent_id: parent })
    const whole = above === ended ? parent : child
    expect(await deleteJob(queries, whole, { time: 300 })).toBe(false)
    expect(await count(queries, 'job')).toBe(2)
    await queries.updateTable('job').set({ status: 'success' }).execute()
    expect(await deleteJob(queries, whole, { time: 300 })).toBe(true)
  })

  test('for its age takes it only when it ended before that moment', async () => {
    const queries = await memoryDatabase()
    const id = await put(queries, ended)
    expect(await deleteJob(queries, id, { time: 300, endedBefore: 200 })).toBe(false)
    expect(await deleteJob(queries, id, { time: 300, endedBefore: 201 })).toBe(true)
  })

  test.each(DISPATCHES)('remembers its run, if a runner may still name it: %s', async (dispatch) => {
    const asked = { offered: 'asked', claimed: 'asked', done: 'stored' } as const
    const old = { done: 'stored' } as const
    for (const [how, expected] of [
      [{ time: 300 }, asked],
      [{ time: 300, endedBefore: 250 }, old],
    ] as const) {
      const queries = await memoryDatabase()
      const id = await put(queries, { ...ended, dispatch, run_id: 'one' })
      await put(queries, { ...ended, dispatch, run_id: 'part', parent_id: id })
      expect(await deleteJob(queries, id, how)).toBe(true)
      const word = (expected as Partial<Record<string, string>>)[dispatch]
      expect(await findPastRuns(queries, ['one', 'part', 'other'])).toEqual(
        new Map(
          word === undefined
            ? []
            : [
                ['one', word],
                ['part', word],
              ],
        ),
      )
      const times = await queries.selectFrom('past_run').select('deleted_at').distinct().execute()
      expect(times).toEqual(word === undefined ? [] : [{ deleted_at: 300 }])
    }
  })

  test('by a person is told to those whom its form names, that for its age is not', async () => {
    const queries = await memoryDatabase()
    const notifications = JSON.stringify({
      recipients: ['ann@x'],
      channels: ['email'],
      onStatus: [],
      onEvent: ['delete'],
    })
    await deleteJob(queries, await put(queries, { ...ended, notifications }), { time: 300, endedBefore: 250 })
    expect(await count(queries, 'notification_event')).toBe(0)
    const id = await put(queries, { ...ended, notifications })
    await deleteJob(queries, id, { time: 300 })
    const [event] = await queries.selectFrom('notification_event').selectAll().execute()
    expect(event).toMatchObject({ kind: 'job', at: 300 })
    expect(JSON.parse(event?.data ?? '')).toMatchObject({ what: 'delete', job: { id, status: 'success', end: 200 } })
  })
})
