import type { Dispatch } from '../../words/job-dispatch.js'
import type { Queries } from '../store.js'
import { type JobRow, parseJob } from './jobs.js'

const COLUMNS = [
  'id',
  'run_id',
  'form',
  'job_type',
  'parent_id',
  'status',
  'dispatch',
  'detail',
  'runner_id',
  'runner_name',
  'held_epoch',
  'abort_requested',
  'time_limit_ms',
  'ran_ms',
  'counted_at',
] as const

/** The columns of a job that tell whether it runs, and how long it may run. */
export type LimitedJob = Pick<JobRow, (typeof COLUMNS)[number]>

/** A job that runners have, or whose child jobs they may have. */
const UNDER_WAY: readonly Dispatch[] = ['claimed', 'driven']

/** The jobs with a time limit that may run now, and whose abort nobody has asked for. */
export async function findLimitedJobs(queries: Queries): Promise<LimitedJob[]> {
  const rows = await queries
    .selectFrom('job')
    .select(COLUMNS)
    .where('dispatch', 'in', UNDER_WAY)
    .where('time_limit_ms', 'is not', null)
    .where('abort_requested', '=', 0)
    .orderBy('id')
    .execute()
  return rows.map(parseJob)
}

/** The present row of one of {@link findLimitedJobs}; null when the job is not among them any more. */
export async function findLimitedJob(queries: Queries, id: number): Promise<LimitedJob | null> {
  const row = await queries
    .selectFrom('job')
    .select(COLUMNS)
    .where('id', '=', id)
    .where('dispatch', 'in', UNDER_WAY)
    .where('time_limit_ms', 'is not', null)
    .where('abort_requested', '=', 0)
    .executeTakeFirst()
  return row ? parseJob(row) : null
}

/** The child jobs of these parent jobs that may run now. */
export async function findChildrenUnderWay(queries: Queries, parents: readonly number[]): Promise<LimitedJob[]> {
  if (parents.length === 0) return []
  const rows = await queries
    .selectFrom('job')
    .select(COLUMNS)
    .where('parent_id', 'in', parents)
    .where('dispatch', 'in', UNDER_WAY)
    .execute()
  return rows.map(parseJob)
}

/** Stores how long a job has run. @param countedAt by the service clock */
export async function noteRunTime(queries: Queries, id: number, ranMs: number, countedAt: number): Promise<void> {
  await queries.updateTable('job').set({ ran_ms: ranMs, counted_at: countedAt }).where('id', '=', id).execute()
}
