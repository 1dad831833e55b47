import { updateApproval } from '../../store/jobs/approvals.js'
import { findJobSummary, moveJob } from '../../store/jobs/jobs.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Queries } from '../../store/store.js'
import { approvalOf, askForApproval, askedAgain } from '../record/approval.js'
import { abortUnstarted, failJob } from '../end/ending.js'
import { statusesBefore } from '../record/status.js'

/** Whether a job may run this playbook folder: one that was approved only runs what was approved. */
export function mayRun(job: { readonly approved_manifest: string | null }, manifestSha256: string): boolean {
  return job.approved_manifest === null || job.approved_manifest === manifestSha256
}

const CHANGED = 'The playbook folder changed after the approval'

/**
 * Takes back a job that was approved with another playbook folder than there is now, inside a write. It asks for its
 * approval once more. A step or node has none of its own to ask for, so it fails with the reason, and its whole goes on as
 * after every failure.
 */
export async function takeBackOutdated(queries: Queries, jobId: number, manifestSha256: string, now: number) {
  const job = await findJobSummary(queries, jobId)
  if (job?.status !== 'running') return
  if (job.abort_requested === 1) {
    await abortUnstarted(queries, jobId, job.abort_requested_by, now)
    return
  }
  const given = approvalOf(job)
  if (job.parent_id !== null || !given) {
    await failJob(queries, jobId, `${CHANGED}: nobody approved what this job would run now`, now)
    return
  }
  const subject = { form_sha256: given.subject?.form_sha256 ?? null, manifest_sha256: manifestSha256 }
  const approval = askedAgain(given, subject)
  const changes = { dispatch: 'parked', wait_until: null, approved_manifest: null }
  const move = { from: statusesBefore('approve'), to: 'approve', time: now, reason: null, changes }
  if (!(await moveJob(queries, jobId, move))) return
  await updateApproval(queries, jobId, JSON.stringify(approval))
  await appendServiceLine(queries, jobId, `[WARNING]: ${CHANGED} and before the job began: it waits for another one`)
  await askForApproval(queries, { id: jobId, target: job.target }, approval)
}
