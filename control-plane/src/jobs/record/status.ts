/** Statuses of a job (service interface, States and transitions). */
export const JOB_STATUSES = [
  'running',
  'approve',
  'success',
  'failed',
  'warning',
  'aborted',
  'rejected',
  'abandoned',
] as const
export type JobStatus = (typeof JOB_STATUSES)[number]

/**
 * Every legal move. `abandoned` is what people see when nobody follows the job any more; it changes once more, to the
 * real outcome. Nothing else leaves a final status.
 */
export const TRANSITIONS = {
  running: ['approve', 'success', 'failed', 'warning', 'aborted', 'rejected', 'abandoned'],
  approve: ['running', 'rejected', 'failed', 'aborted'],
  abandoned: ['success', 'failed', 'warning', 'aborted'],
  success: [],
  failed: [],
  warning: [],
  aborted: [],
  rejected: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>

/** Reads a status from a row. @throws Error for one that this release does not know */
export function jobStatusOf(text: string): JobStatus {
  const status = JOB_STATUSES.find((known) => known === text)
  if (!status) throw new Error(`unknown job status ${JSON.stringify(text)}`)
  return status
}

/** The statuses from which a job may move to `to`. */
export function statusesBefore(to: JobStatus): JobStatus[] {
  return JOB_STATUSES.filter((from) => (TRANSITIONS[from] as readonly JobStatus[]).includes(to))
}

/** True when the job has ended as far as people are concerned; an abandoned one may still change once. */
export function isEnded(status: JobStatus): boolean {
  return status !== 'running' && status !== 'approve'
}

/** True when nothing changes the status any more. */
export function isFinal(status: JobStatus): boolean {
  return TRANSITIONS[status].length === 0
}

/**
 * Where a job is on its way to a runner. `parked` is not on its way yet: something has to happen before. `driven` never
 * goes to one: it consists of other jobs.
 */
export const DISPATCH_STATES = ['parked', 'queued', 'offered', 'claimed', 'driven', 'done'] as const
export type DispatchState = (typeof DISPATCH_STATES)[number]
