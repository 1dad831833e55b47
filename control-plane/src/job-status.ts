/** Statuses of a job, as users see them. */
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
export const STATUS_MOVES = {
  running: ['approve', 'success', 'failed', 'warning', 'aborted', 'rejected', 'abandoned'],
  approve: ['running', 'rejected', 'failed', 'aborted'],
  abandoned: ['success', 'failed', 'warning', 'aborted'],
  success: [],
  failed: [],
  warning: [],
  aborted: [],
  rejected: [],
} as const satisfies Record<JobStatus, readonly JobStatus[]>

/** The statuses from which a job may move to `To`; of several, those from which it may move to each of them. */
export type StatusBefore<To extends JobStatus> = {
  [From in JobStatus]: [To] extends [(typeof STATUS_MOVES)[From][number]] ? From : never
}[JobStatus]
