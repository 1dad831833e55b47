import type { Caller } from '../../auth/sessions/caller.js'
import { ConflictError, ForbiddenError, NotFoundError } from '../../errors.js'
import type { JobSummaryRow } from '../../store/jobs/jobs.js'
import { type JobApproval, approvalOf, deciderName, hasApprovingRole } from '../record/approval.js'
import { isOwner, seesAllJobs } from '../record/visibility.js'

/**
 * The result of a decision. Either it was stored, or somebody else decided first. `job` is null when the job was
 * deleted.
 */
export type TakenDecision = { readonly job: JobSummaryRow | null; readonly isTaken: boolean }

/**
 * Checks the state of the job before its owner and the roles. So the answer is 409 for a caller's own job that does not
 * wait, and for a job that never needed an approval.
 * @throws ConflictError
 */
function requireWaiting(caller: Caller, job: JobSummaryRow): void {
  if (job.status === 'approve') return
  const wasNeverAsked = approvalOf(job) === null && seesAllJobs(caller)
  if (isOwner(caller, job) || wasNeverAsked) requireTaken({ job, isTaken: false }, job.id)
}

/** Checks whether the caller may approve a job. @throws ForbiddenError, ConflictError */
export function requireRightToApprove(caller: Caller, job: JobSummaryRow): void {
  requireWaiting(caller, job)
  requireApprover(caller, job)
}

/** Checks whether the caller may reject a job. @throws ForbiddenError, ConflictError */
export function requireRightToReject(caller: Caller, job: JobSummaryRow): void {
  requireWaiting(caller, job)
  if (!isOwner(caller, job)) requireApprovingRole(caller, job)
}

/**
 * Checks whether the caller may approve a job that waits now. Changes since the approval was asked for are not checked
 * here.
 * @throws ForbiddenError, ConflictError
 */
export function requireMayApprove(caller: Caller, job: JobSummaryRow): void {
  requireTaken({ job, isTaken: job.status === 'approve' }, job.id)
  requireRightToApprove(caller, job)
}

/** Checks whether the caller may reject a job that waits now. @throws ForbiddenError, ConflictError */
export function requireMayReject(caller: Caller, job: JobSummaryRow): void {
  requireTaken({ job, isTaken: job.status === 'approve' }, job.id)
  requireRightToReject(caller, job)
}

function requireApprover(caller: Caller, job: JobSummaryRow): void {
  const approval = requireApprovingRole(caller, job)
  if (caller.isAdmin || !isOwner(caller, job) || approval?.allowSelf === true) return
  throw new ForbiddenError('own_job', `Job ${job.id} is your own: somebody else has to approve it`)
}

function requireApprovingRole(caller: Caller, job: JobSummaryRow): JobApproval | null {
  const approval = approvalOf(job)
  if (hasApprovingRole(caller, approval)) return approval
  throw new ForbiddenError('not_an_approver', `None of your roles may decide about job ${job.id}`)
}

/** Refuses a decision that was not stored. @throws NotFoundError, ConflictError */
export function requireTaken({ job, isTaken }: TakenDecision, id: number): void {
  if (!job) throw gone(id)
  if (isTaken) return
  const approval = approvalOf(job)
  const by = approval && deciderName(approval)
  const why = approval && by !== null ? `it was ${approval.state} by ${by}` : `its status is ${job.status}`
  throw new ConflictError('not_waiting', `Job ${id} does not wait for an approval: ${why}`)
}

/** The error for a job that does not exist. */
export function gone(id: number): NotFoundError {
  return new NotFoundError('job_not_found', `There is no job ${id}`)
}
