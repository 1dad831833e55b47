import type { JobKey } from '../spool/job-folder.js'

/** A job as messages of the protocol name it. */
export interface JobRef {
  readonly job_id: number
  readonly run_id: string
}

/** The key of the job that a message names. */
export function keyOfRef({ job_id: jobId, run_id: runId }: JobRef): JobKey {
  return { jobId, runId }
}

/** The name of a job for a message. */
export function refOfKey({ jobId, runId }: JobKey): JobRef {
  return { job_id: jobId, run_id: runId }
}
