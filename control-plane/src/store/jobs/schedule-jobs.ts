import type { JobStatus } from '../../words/job-status.js'
import type { Queries } from '../store.js'
import { parseJob } from './jobs.js'

/**
 * The statuses of the last jobs of schedules, by the ids of the jobs.
 * @param of an account and null for all accounts; or the job of one schedule
 */
export async function findLastStatuses(
  queries: Queries,
  of: { readonly ownerId: number | null } | { readonly jobId: number | null },
): Promise<Map<number, JobStatus>> {
  let query = queries
    .selectFrom('schedule')
    .innerJoin('job', 'job.id', 'schedule.last_job_id')
    .select(['job.id', 'job.status'])
  if ('jobId' in of) query = query.where('job.id', '=', of.jobId ?? -1)
  else if (of.ownerId !== null) query = query.where('schedule.user_id', '=', of.ownerId)
  return new Map((await query.execute()).map(parseJob).map(({ id, status }) => [id, status]))
}
