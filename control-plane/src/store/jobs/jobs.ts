import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Selectable, Updateable } from 'kysely'
import { Type } from 'typebox'
import { TOLD_COLUMNS, noteAct, noteJobEvent } from '../service/notification-events.js'
import { type PastRun, notePastRuns } from './orphans.js'
import { JOB_STATUSES, type JobStatus, OPEN_STATUSES, type StatusBefore, isEnded } from '../../words/job-status.js'
import { JOB_TYPES } from '../../words/job-type.js'
import type { Queries } from '../store.js'
import { DISPATCHES, type DISPATCH_OF_STATUS } from '../../words/job-dispatch.js'
import type { JobTable } from '../schema/jobs.js'
import { noteStage } from './job-stages.js'
import { rowParser } from '../sql/row-parser.js'
import { USER_TYPES } from '../../words/user-type.js'

/** A job with all columns. */
export type JobRow = Selectable<JobTable>

/** All columns without the long texts. */
const SUMMARY_COLUMNS = [
  'id',
  'run_id',
  'form',
  'target',
  'job_type',
  'status',
  'user_id',
  'user_name',
  'user_type',
  'runner_id',
  'runner_name',
  'dispatch',
  'wait_until',
  'parent_id',
  'step',
  'approval',
  'abort_requested',
  'abort_requested_by',
  'abandoned_at',
  'schedule_id',
  'schedule_name',
  'held_epoch',
] as const

/** A job without its long texts. */
export type JobSummaryRow = Pick<JobRow, (typeof SUMMARY_COLUMNS)[number]>

/** Checks that a row of jobs, or some of its columns, has known states. */
export const parseJob = rowParser('job', {
  status: Type.Enum(JOB_STATUSES),
  dispatch: Type.Enum(DISPATCHES),
  job_type: Type.Enum(JOB_TYPES),
  user_type: Type.Enum(USER_TYPES),
})

/** A job with everything, or null. */
export async function findJob(queries: Queries, id: number): Promise<JobRow | null> {
  const row = await queries.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseJob(row) : null
}

/**
 * Whether a job's number stands for this run. After the database has lost its last commits, it may give the number of a
 * lost job to another one, while messages about the lost one are still on their way.
 */
export async function isRunOf(queries: Queries, id: number, runId: string): Promise<boolean> {
  const row = await queries.selectFrom('job').select('run_id').where('id', '=', id).executeTakeFirst()
  return row?.run_id === runId
}

/** A job without its long texts, or null. */
export async function findJobSummary(queries: Queries, id: number): Promise<JobSummaryRow | null> {
  const row = await queries.selectFrom('job').select(SUMMARY_COLUMNS).where('id', '=', id).executeTakeFirst()
  return row ? parseJob(row) : null
}

/** Ids of the child jobs of a job, in order. */
export async function findSubjobs(queries: Queries, id: number): Promise<number[]> {
  const rows = await queries.selectFrom('job').select('id').where('parent_id', '=', id).orderBy('id').execute()
  return rows.map((row) => row.id)
}

/** A move of a job's status. Only legal moves compile: `from` and `dispatch` must fit `to`. */
export interface JobMove<To extends JobStatus> {
  readonly from: readonly StatusBefore<To>[]
  readonly to: To
  readonly time: number
  readonly reason: string | null
  /** Words that come after those of the detail so far. */
  readonly detail?: string | null
  readonly changes?: Partial<
    Pick<JobTable, 'end_time' | 'abandoned_at' | 'abort_requested' | 'wait_until' | 'runner_id'> &
      Pick<JobRow, 'approved_manifest' | 'has_place'> & { readonly dispatch: (typeof DISPATCH_OF_STATUS)[To][number] }
  >
}

/**
 * Moves a job to a status if its status is one of `from`. A job ends only once, however many try. False means that
 * somebody else was first, or that the move is not legal.
 */
export async function moveJob<To extends JobStatus>(queries: Queries, id: number, move: JobMove<To>): Promise<boolean> {
  const before = await queries
    .selectFrom('job')
    .select(['status', 'detail', ...TOLD_COLUMNS])
    .where('id', '=', id)
    .executeTakeFirst()
  const to: JobStatus = move.to
  const from: readonly JobStatus[] = move.from
  const changes: Updateable<JobTable> = move.changes ?? {}
  if (!before || !from.includes(before.status)) return false
  const detail = typeof move.detail !== 'string' ? {} : { detail: withWords(before.detail, move.detail) }
  // If a clock was set back while the job ran, the job must not end before it began.
  const { end_time: ended } = changes
  const endTime = typeof ended === 'number' ? { end_time: Math.max(ended, before.start_time) } : {}
  const { numUpdatedRows } = await queries
    .updateTable('job')
    .set({ ...changes, status: to, status_reason: move.reason, ...detail, ...endTime })
    .where('id', '=', id)
    .where('status', '=', before.status)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  // Nobody needs its passwords any more: an abandoned job is never offered again either.
  if (typeof ended === 'number') await queries.deleteFrom('job_secret').where('job_id', '=', id).execute()
  if (before.status === 'approve') {
    await queries.deleteFrom('awaited_approval').where('job_id', '=', id).execute()
  }
  await queries
    .insertInto('job_transition')
    .values({ job_id: id, time: move.time, from_status: before.status, to_status: to, reason: move.reason })
    .execute()
  if (changes.dispatch !== undefined) await noteStage(queries, [id], changes.dispatch, move.time)
  const standing = { status: to, reason: move.reason, end: endTime.end_time ?? null }
  if (isEnded(to)) {
    await noteJobEvent(queries, 'ended', { row: before, standing, at: move.time })
  }
  return true
}

/** Adds a text to the detail of a job, which tells what its status does not. */
export async function addDetail(queries: Queries, id: number, words: string): Promise<void> {
  const job = await queries.selectFrom('job').select('detail').where('id', '=', id).executeTakeFirst()
  if (!job) return
  await noteDetail(queries, id, withWords(job.detail, words))
}

/** Sets the detail of a job, in place of the one that it has. */
export async function noteDetail(queries: Queries, id: number, detail: string | null): Promise<void> {
  await queries.updateTable('job').set({ detail }).where('id', '=', id).execute()
}

function withWords(detail: string | null, words: string): string {
  return detail === null ? words : `${detail}; ${words}`
}

/**
 * Stores that somebody asked for the abort. False when it was asked for before or the job does not run any more.
 * @param statuses the statuses that count as running. With `abandoned`, the runner gets the abort when it comes back
 */
export async function requestAbort(
  queries: Queries,
  id: number,
  by: string,
  statuses: readonly JobStatus[] = ['running'],
): Promise<boolean> {
  const { numUpdatedRows } = await queries
    .updateTable('job')
    .set({ abort_requested: 1, abort_requested_by: by })
    .where('id', '=', id)
    .where('status', 'in', statuses)
    .where('abort_requested', '=', 0)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Who or what deletes jobs: an admin or retention. */
export interface Deletion {
  /** Now, in milliseconds since the epoch. */
  readonly time: number
  /** Set by retention: only a job that ended before this time, in milliseconds. */
  readonly endedBefore?: AgeLimit
}

/**
 * Deletes an ended job with its output, events and child jobs, and theirs. False when it or a child job has not ended,
 * or when it is a child job and the parent job goes on.
 *
 * The runs of deleted jobs are remembered (`notePastRuns`), because runners may still name them. A run whose end was
 * stored gets no new row. If a person deleted the job, its processes are ended. A job that was deleted only for its age
 * is adopted again if its runner comes back with it.
 */
export async function deleteJob(queries: Queries, id: number, { time, endedBefore }: Deletion): Promise<boolean> {
  const family = [id]
  for (const parent of family) family.push(...(await findSubjobs(queries, parent)))
  const whole = (await findJobSummary(queries, id))?.parent_id ?? null
  const unfinished = await queries
    .selectFrom('job')
    .select('id')
    .where('id', 'in', whole === null ? family : [...family, whole])
    .where('status', 'in', OPEN_STATUSES)
    .limit(1)
    .execute()
  if (unfinished.length > 0) return false
  const runs = await queries
    .selectFrom('job')
    .select(['run_id', 'dispatch'])
    .where('id', 'in', family)
    .where('dispatch', 'in', ['offered', 'claimed', 'done'])
    .execute()
  if (endedBefore === undefined) await noteAct(queries, id, 'delete', time)
  let job = queries.deleteFrom('job').where('id', '=', id).where('status', 'not in', OPEN_STATUSES)
  if (endedBefore !== undefined) job = job.where('end_time', '<', endedBefore)
  const { numDeletedRows } = await job.executeTakeFirst()
  if (numDeletedRows === 0n) return false
  for (const part of family.slice(1)) await queries.deleteFrom('job').where('id', '=', part).execute()
  const isAsked = endedBefore === undefined
  const past = runs.flatMap(({ run_id: runId, dispatch }): { runId: string; how: PastRun }[] => {
    if (dispatch === 'done') return [{ runId, how: 'stored' }]
    return isAsked ? [{ runId, how: 'asked' }] : []
  })
  await notePastRuns(queries, past, time)
  return true
}
