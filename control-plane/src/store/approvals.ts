import { type JobFilter, type JobSummaryRow, SUMMARY_COLUMNS } from './jobs.js'
import type { Queries } from './store.js'

/** Somebody who may give approvals. */
export interface ApprovalGiver {
  readonly name: string
  readonly type: string
  readonly roles: readonly string[]
}

/** Notes which roles may give the approval that a job waits for. {@link moveJob} forgets it when the job moves on. */
export async function insertAwaitedApproval(
  queries: Queries,
  jobId: number,
  approval: { readonly roles: readonly string[]; readonly allowSelf: boolean },
): Promise<void> {
  const rows = [...new Set(approval.roles)].map((role) => ({
    role,
    job_id: jobId,
    allow_self: approval.allowSelf ? 1 : 0,
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
  const { count } = await queries
    .selectFrom('awaited_approval')
    .innerJoin('job', 'job.id', 'awaited_approval.job_id')
    .select((e) => e.fn.count<number>('awaited_approval.job_id').distinct().as('count'))
    .where('awaited_approval.role', 'in', giver.roles)
    .where((is) =>
      is.or([
        is('awaited_approval.allow_self', '=', 1),
        is('job.user_name', '!=', giver.name),
        is('job.user_type', '!=', giver.type),
      ]),
    )
    .executeTakeFirstOrThrow()
  return Number(count)
}

/**
 * Jobs that wait for an approval, newest first, at most `limit`: all, or those whose approval a giver may give. That is
 * never their own job, unless its approval says so.
 * Answered from the few jobs that wait, however many others there are.
 */
export async function listAwaitingJobs(
  queries: Queries,
  giver: ApprovalGiver | null,
  filter: Omit<JobFilter, 'visibleTo'>,
  limit: number,
): Promise<JobSummaryRow[]> {
  let query = queries
    .selectFrom('job')
    .select(SUMMARY_COLUMNS)
    .where('status', '=', 'approve')
    .orderBy('id', 'desc')
    .limit(limit)
  if (giver !== null) {
    query = query.where((is) => {
      const givable = is.selectFrom('awaited_approval').select('job_id').where('role', 'in', giver.roles)
      const notOwn = [is('user_name', '!=', giver.name), is('user_type', '!=', giver.type)]
      return is.and([is('id', 'in', givable), is.or([...notOwn, is('id', 'in', givable.where('allow_self', '=', 1))])])
    })
  }
  const { user, runner } = filter
  if (user) query = query.where('user_type', '=', user.type).where('user_name', '=', user.name)
  if (runner !== undefined) query = query.where('runner_name', '=', runner)
  return query.execute()
}
