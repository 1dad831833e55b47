import type { Queries } from '../store.js'

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
