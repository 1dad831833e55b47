import type { Caller } from '../../auth/caller.js'
import { ForbiddenError, NotFoundError } from '../../errors.js'
import { type JobSummaryRow, findJobSummary } from '../../store/jobs/jobs.js'
import { findNodes } from '../../store/jobs/sequences.js'
import type { Queries } from '../../store/store.js'
import { type JobApproval, approvalOf, hasApprovingRole } from './approval.js'
import { isSequence } from './sequence-port.js'

type Owned = Pick<JobSummaryRow, 'user_id'>

/** By account: a name may be given again to somebody else. */
export function isOwner(caller: Caller, job: Owned): boolean {
  return job.user_id === caller.id
}

/** May read every job (service interface, rule 6). */
export function seesAllJobs(caller: Caller): boolean {
  return caller.isAdmin || caller.options.showAllJobLogs || caller.options.manageAllJobs
}

/**
 * A job that the caller may read: beside their own, one that waits for an approval which a role of theirs may give, since
 * they have to see what they decide about; and one that they decided about, since they answer for it.
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
 * A job that the caller may act on: their own, or any for an admin or a role with `manageAllJobs`.
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

/** Of a job that consists of others, each approval on the way may have been decided by somebody else. */
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
