import type { JobType } from '../../words/job-type.js'
import type { Queries } from '../store.js'
import type { JobRow } from './jobs.js'

/** Most jobs of a form that are looked through for runs that succeeded. */
const MOST_LOOKED_AT = 100

/** The newest runs of a form before a job that succeeded and whose events are not too many to be read, newest first. */
export async function findEarlierRuns(
  queries: Queries,
  job: { readonly id: number; readonly form: string; readonly target: string },
  { runs, mostEvents }: { readonly runs: number; readonly mostEvents: number },
): Promise<number[]> {
  const rows = await queries
    .selectFrom('job')
    .innerJoin('job_stream', 'job_stream.job_id', 'job.id')
    .select(['job.id', 'job.target', 'job.status', 'job.job_type', 'job_stream.events_count'])
    .where('job.form', '=', job.form)
    .where('job.id', '<', job.id)
    .orderBy('job.id', 'desc')
    .limit(MOST_LOOKED_AT)
    .execute()
  return rows
    .filter(({ status, job_type: type }) => status === 'success' && type === 'ansible')
    .filter(({ target, events_count: events }) => target === job.target && events > 0 && events <= mostEvents)
    .slice(0, runs)
    .map(({ id }) => id)
}

/** Most jobs of a form that are looked through for the last good run. */
const MOST_COMPARED = 1000

/**
 * The newest job before this one that ran the same and succeeded; null: there is none among the last jobs of the form.
 * @param userId only jobs of this account; null: of all
 */
export async function findLastGoodRun(
  queries: Queries,
  job: Pick<JobRow, 'id' | 'form' | 'target' | 'job_type' | 'parent_id'>,
  userId: number | null,
): Promise<number | null> {
  const rows = await queries
    .selectFrom('job')
    .select(['id', 'target', 'status', 'job_type', 'parent_id', 'user_id'])
    .where('form', '=', job.form)
    .where('id', '<', job.id)
    .orderBy('id', 'desc')
    .limit(MOST_COMPARED)
    .execute()
  const isPart = job.parent_id !== null
  return (
    rows
      .filter(({ status, user_id: owner }) => status === 'success' && (userId === null || owner === userId))
      .filter((row) => row.target === job.target && row.job_type === job.job_type)
      .find((row) => (row.parent_id !== null) === isPart)?.id ?? null
  )
}

/** The newest runs of a job that consists of other jobs, before this one, that succeeded; newest first. */
export async function findEarlierSequences(
  queries: Queries,
  job: Pick<JobRow, 'id' | 'form' | 'target' | 'job_type'>,
  runs: number,
): Promise<number[]> {
  const rows = await queries
    .selectFrom('job')
    .select(['id', 'target', 'status', 'job_type'])
    .where('form', '=', job.form)
    .where('id', '<', job.id)
    .orderBy('id', 'desc')
    .limit(MOST_COMPARED)
    .execute()
  return rows
    .filter(
      ({ status, target, job_type: type }) => status === 'success' && target === job.target && type === job.job_type,
    )
    .slice(0, runs)
    .map(({ id }) => id)
}

/** The child jobs of a job: what they are, and how many events they have. */
export async function findParts(
  queries: Queries,
  jobId: number,
): Promise<{ readonly id: number; readonly job_type: JobType; readonly events_count: number | null }[]> {
  return queries
    .selectFrom('job')
    .leftJoin('job_stream', 'job_stream.job_id', 'job.id')
    .select(['job.id', 'job.job_type', 'job_stream.events_count'])
    .where('job.parent_id', '=', jobId)
    .execute()
}
