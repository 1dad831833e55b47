import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError, NotFoundError } from '../../errors.js'
import { type JobSummaryRow, findJobSummary } from '../../store/jobs/jobs.js'
import { findNodes } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import { type JobApproval, approvalOf, hasApprovingRole } from './approval.js'
import { isSequence } from './sequence-port.js'

type Owned = Pick<JobSummaryRow, 'user_id'>

/** Whether the caller launched the job. It compares accounts, because a name may be given to somebody else later. */
export function isOwner(caller: Caller, job: Owned): boolean {
  return job.user_id === caller.id
}

/** Whether the caller may read every job. */
export function seesAllJobs(caller: Caller): boolean {
  return caller.isAdmin || caller.options.showAllJobLogs || caller.options.manageAllJobs
}

/**
 * A job that the caller may read. Beside their own jobs, these are the jobs whose approval they may give, because they
 * have to see what they decide about, and the jobs whose approval they decided, because they answer for them.
 * @throws NotFoundError, ForbiddenError
 */
export async function requireVisible(queries: Queries, caller: Caller, id: number): Promise<JobSummaryRow> {
  const job = await requireJob(queries, id)
  const isSeen = isOwner(caller, job) || seesAllJobs(caller) || mayReadAsApprover(caller, job)
  if (!isSeen && !(await hasDecidedOnTheWay(queries, caller, job))) {
    throw new ForbiddenError('not_your_job', `Job ${id} belongs to another user`)
  }
  return job
}

/**
 * A job that the caller may change: their own job, or any job for an admin or a role with `manageAllJobs`.
 * @throws NotFoundError, ForbiddenError
 */
export async function requireManageable(queries: Queries, caller: Caller, id: number): Promise<JobSummaryRow> {
  const job = await requireJob(queries, id)
  if (!isOwner(caller, job) && !caller.isAdmin && !caller.options.manageAllJobs) {
    throw new ForbiddenError('not_your_job', `Job ${id} belongs to another user`)
  }
  return job
}

function mayReadAsApprover(caller: Caller, job: JobSummaryRow): boolean {
  const approval = approvalOf(job)
  if (!approval) return false
  if (job.status === 'approve') return hasApprovingRole(caller, approval)
  return isDecider(caller, approval)
}

function isDecider(caller: Caller, approval: JobApproval): boolean {
  return approval.decided_by_id === caller.id
}

/** In a parent job, somebody else may have decided each approval. */
async function hasDecidedOnTheWay(queries: Queries, caller: Caller, job: JobSummaryRow): Promise<boolean> {
  if (!isSequence(job)) return false
  const approvals = (await findNodes(queries, job.id)).map(approvalOf)
  return approvals.some((approval) => approval !== null && isDecider(caller, approval))
}

async function requireJob(queries: Queries, id: number): Promise<JobSummaryRow> {
  const job = await findJobSummary(queries, id)
  if (!job) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  return job
}
