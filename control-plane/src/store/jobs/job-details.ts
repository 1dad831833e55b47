import type { Selectable } from 'kysely'
import type { JobStatus } from '../../words/job-status.js'
import type { JobStreamTable } from '../schema/job-streams.js'
import type { JobTransitionTable } from '../schema/jobs.js'
import type { Queries } from '../store.js'

/** The moves of a job's status, oldest first. */
export function findTransitions(
  queries: Queries,
  jobId: number,
): Promise<Omit<Selectable<JobTransitionTable>, 'job_id'>[]> {
  return queries
    .selectFrom('job_transition')
    .select(['time', 'from_status', 'to_status', 'reason'])
    .where('job_id', '=', jobId)
    .orderBy('time')
    .execute()
}

/** The stored facts about a job's streams, without their bytes. Null: there is no such job. */
export async function findStreams(queries: Queries, jobId: number): Promise<Selectable<JobStreamTable> | null> {
  const row = await queries.selectFrom('job_stream').selectAll().where('job_id', '=', jobId).executeTakeFirst()
  return row ?? null
}

/** The comparison of an ended job's streams with the end record of its runner. */
export interface Comparison {
  readonly integrity: 'verified' | 'incomplete'
  readonly output_sha256: string | null
  readonly events_sha256: string | null
  /** Milliseconds since the epoch. */
  readonly verified_at: number
}

/** Stores the comparison, in the write of the end. */
export async function storeComparison(queries: Queries, jobId: number, comparison: Comparison): Promise<void> {
  await queries.updateTable('job_stream').set(comparison).where('job_id', '=', jobId).execute()
}

/** How many jobs wait for the same runner and came before this one. */
export async function countQueuedBefore(queries: Queries, jobId: number, runnerId: number): Promise<number> {
  const { count } = await queries
    .selectFrom('job')
    .select((build) => build.fn.countAll<number>().as('count'))
    .where('dispatch', '=', 'queued')
    .where('runner_id', '=', runnerId)
    .where('id', '<', jobId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The length of the shown output of a job, and whether more may arrive. */
export interface OutputState {
  readonly jobId: number
  readonly bytes: number
  readonly generation: number
  readonly status: JobStatus
}

/** The state of the outputs of these jobs. A job that is gone is left out. */
export async function findOutputStates(queries: Queries, jobIds: readonly number[]): Promise<OutputState[]> {
  if (jobIds.length === 0) return []
  return queries
    .selectFrom('job_stream')
    .innerJoin('job', 'job.id', 'job_stream.job_id')
    .select(['job.id as jobId', 'shown_length as bytes', 'generation', 'status'])
    .where('job_id', 'in', jobIds)
    .execute()
}
