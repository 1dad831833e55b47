import { updateApproval } from '../../store/jobs/approvals.js'
import { approvalOf, askForApproval, askedAgain } from '../record/approval.js'
import { findJobSummary, moveJob } from '../../store/jobs/jobs.js'
import { abortUnstarted, failJob } from '../end/ending.js'
import type { Queries } from '../../store/store.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'

/** Whether a job may run this playbook folder. A job that was approved runs only the content that was approved. */
export function mayRun(job: { readonly approved_manifest: string | null }, manifestSha256: string): boolean {
  return job.approved_manifest === null || job.approved_manifest === manifestSha256
}

const CHANGED = 'The playbook folder changed after the approval'

/**
 * Takes back the approval of a job, inside a write, because its playbook folder has changed since the approval. The job
 * asks for its approval once more. A step or workflow node has no approval of its own to ask for. So it fails with the
 * reason, and its parent job goes on as after every failure.
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
  const subject = { form_sha256: given.subject.form_sha256, manifest_sha256: manifestSha256 }
  const approval = askedAgain(given, subject)
  const changes = { dispatch: 'parked' as const, wait_until: null, approved_manifest: null, has_place: 0 }
  if (!(await moveJob(queries, jobId, { from: ['running'], to: 'approve', time: now, reason: null, changes }))) return
  await updateApproval(queries, jobId, JSON.stringify(approval))
  await appendServiceLine(queries, jobId, `[WARNING]: ${CHANGED} and before the job began: it waits for another one`)
  await askForApproval(queries, { id: jobId, target: job.target }, approval, now)
}
