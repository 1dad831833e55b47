import type { JobType } from '../../words/job-type.js'
import type { Queries } from '../store.js'
import type { JobRow } from './jobs.js'

/** How many jobs of a form are searched for successful runs, at most. */
const MAX_LOOKED_AT = 100

/** The newest successful runs of a form before a job, newest first. Runs with too many events are left out. */
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
    .limit(MAX_LOOKED_AT)
    .execute()
  return rows
    .filter(({ status, job_type: type }) => status === 'success' && type === 'ansible')
    .filter(({ target, events_count: events }) => target === job.target && events > 0 && events <= mostEvents)
    .slice(0, runs)
    .map(({ id }) => id)
}

/** How many jobs of a form are searched for the last successful runs, at most. */
const MAX_COMPARED = 20_000
/** How many of them are read at once. Most often the first ones have it. */
const COMPARED_AT_ONCE = 500

type ComparedJob = Pick<JobRow, 'id' | 'form' | 'target' | 'job_type'>

/** The successful jobs before this one that ran the same, newest first. */
async function* goodRunsBefore(queries: Queries, job: ComparedJob) {
  for (let [before, looked] = [job.id, 0]; looked < MAX_COMPARED; looked += COMPARED_AT_ONCE) {
    const rows = await queries
      .selectFrom('job')
      .select(['id', 'target', 'status', 'job_type', 'parent_id', 'user_id'])
      .where('form', '=', job.form)
      .where('id', '<', before)
      .orderBy('id', 'desc')
      .limit(COMPARED_AT_ONCE)
      .execute()
    const isSame = ({ target, job_type: type }: (typeof rows)[number]) => target === job.target && type === job.job_type
    yield* rows.filter((row) => row.status === 'success' && isSame(row))
    if (rows.length < COMPARED_AT_ONCE) return
    before = rows.at(-1)?.id ?? 0
  }
}

/**
 * The newest successful job before this one that ran the same; null: there is none among the last jobs of the form.
 * @param userId only jobs of this account; null: of all
 */
export async function findLastGoodRun(
  queries: Queries,
  job: ComparedJob & Pick<JobRow, 'parent_id'>,
  userId: number | null,
): Promise<number | null> {
  const isPart = job.parent_id !== null
  for await (const { id, parent_id: parent, user_id: owner } of goodRunsBefore(queries, job)) {
    if ((parent !== null) === isPart && (userId === null || owner === userId)) return id
  }
  return null
}

/** The newest successful runs of the same form as a parent job, before it, newest first. */
export async function findEarlierSequences(queries: Queries, job: ComparedJob, runs: number): Promise<number[]> {
  const found: number[] = []
  for await (const { id } of goodRunsBefore(queries, job)) {
    if (found.push(id) === runs) break
  }
  return found
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
