import type { JobListRow } from './job-fields.js'
import { type JobFilter, narrowed, newestJobs } from './job-list.js'
import type { Queries } from '../store.js'

/** Somebody who may give approvals. */
export interface ApprovalGiver {
  /** The id of the account. */
  readonly id: number
  readonly roles: readonly string[]
}

/** Stores which roles may give the approval that a job waits for. {@link moveJob} removes it when the job goes on. */
export async function insertAwaitedApproval(
  queries: Queries,
  jobId: number,
  approval: { readonly roles: readonly string[]; readonly allowSelf: boolean },
): Promise<void> {
  const job = queries.selectFrom('job').select(['user_id', 'user_name', 'user_type']).where('id', '=', jobId)
  const user = await job.executeTakeFirstOrThrow()
  const rows = [...new Set(approval.roles)].map((role) => ({
    role,
    job_id: jobId,
    allow_self: approval.allowSelf ? 1 : 0,
    ...user,
  }))
  if (rows.length > 0) await queries.insertInto('awaited_approval').values(rows).execute()
}

/** Stores the approval with its job. */
export async function updateApproval(queries: Queries, jobId: number, approval: string): Promise<void> {
  await queries.updateTable('job').set({ approval }).where('id', '=', jobId).execute()
}

/** How many jobs wait for an approval: all, or those that a giver may decide. */
export async function countAwaitedApprovals(queries: Queries, giver: ApprovalGiver | null): Promise<number> {
  if (giver === null) {
    const all = queries.selectFrom('job').select((e) => e.fn.countAll<number>().as('count'))
    return Number((await all.where('status', '=', 'approve').executeTakeFirstOrThrow()).count)
  }
  const { count } = await givableBy(queries, giver)
    .select((e) => e.fn.count<number>('job_id').distinct().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The roles of a giver. Jobs of their own count only if the approval allows that. */
function givableBy(queries: Queries, { id, roles }: ApprovalGiver) {
  return queries
    .selectFrom('awaited_approval')
    .where('role', 'in', roles)
    .where((is) => is.or([is('allow_self', '=', 1), is('user_id', 'is', null), is('user_id', '!=', id)]))
}

/**
 * Jobs that wait for an approval, newest first, at most `limit`: all, or those that a giver may decide. Own jobs are
 * among them only if the approval allows that. The query reads only the few jobs that wait, however many others exist.
 */
export async function listAwaitingJobs(
  queries: Queries,
  giver: ApprovalGiver | null,
  filter: Omit<JobFilter, 'visibleTo'>,
  limit: number,
  newerThan = 0,
): Promise<JobListRow[]> {
  // This is a list of ids. With a condition on the status, SQLite would read all jobs of a user or a runner.
  const waiting = queries.selectFrom('job').select('id').where('status', '=', 'approve')
  let query = queries.selectFrom('job').where('id', '>', newerThan)
  query =
    giver === null
      ? query.where('id', 'in', waiting)
      : query.where('status', '=', 'approve').where('id', 'in', givableBy(queries, giver).select('job_id'))
  const { user, runner } = filter
  if (user) query = query.where('user_type', '=', user.type).where('user_name', '=', user.name)
  if (runner !== undefined) query = query.where('runner_name', '=', runner)
  return newestJobs(queries, narrowed(query, filter), limit)
}
