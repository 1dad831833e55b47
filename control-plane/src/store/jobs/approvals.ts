import { type JobFilter, type JobListRow, newestJobs } from './job-list.js'
import type { Queries } from '../store.js'

/** Somebody who may give approvals. */
export interface ApprovalGiver {
  /** Of the account. */
  readonly id: number
  readonly roles: readonly string[]
}

/** Notes which roles may give the approval that a job waits for. {@link moveJob} forgets it when the job moves on. */
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

/** Keeps with a job what became of its approval. */
export async function updateApproval(queries: Queries, jobId: number, approval: string): Promise<void> {
  await queries.updateTable('job').set({ approval }).where('id', '=', jobId).execute()
}

/** How many jobs wait for an approval, or, of a giver, for one that they may give. */
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

/** The rows of roles of a giver; those of their own jobs only where the approval says so. */
function givableBy(queries: Queries, { id, roles }: ApprovalGiver) {
  return queries
    .selectFrom('awaited_approval')
    .where('role', 'in', roles)
    .where((is) => is.or([is('allow_self', '=', 1), is('user_id', 'is', null), is('user_id', '!=', id)]))
}

/**
 * Jobs that wait for an approval, newest first, at most `limit`: all, or those whose approval a giver may give. That is
 * never their own job, unless its approval says so. Answered from the few jobs that wait, however many others there are.
 */
export async function listAwaitingJobs(
  queries: Queries,
  giver: ApprovalGiver | null,
  filter: Omit<JobFilter, 'visibleTo'>,
  limit: number,
  newerThan = 0,
): Promise<JobListRow[]> {
  // As a list of ids: given the status itself, SQLite would rather read all jobs of a user or a runner.
  const waiting = queries.selectFrom('job').select('id').where('status', '=', 'approve')
  let query = queries.selectFrom('job').where('id', '>', newerThan)
  query =
    giver === null
      ? query.where('id', 'in', waiting)
      : query.where('status', '=', 'approve').where('id', 'in', givableBy(queries, giver).select('job_id'))
  const { user, runner } = filter
  if (user) query = query.where('user_type', '=', user.type).where('user_name', '=', user.name)
  if (runner !== undefined) query = query.where('runner_name', '=', runner)
  return newestJobs(queries, query, limit)
}
