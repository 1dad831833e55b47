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
/** One of {@link JOB_STATUSES}. */
export type JobStatus = (typeof JOB_STATUSES)[number]

/** Statuses of a job that has not ended, as people see it. */
export const OPEN_STATUSES = ['running', 'approve'] as const satisfies readonly JobStatus[]

/** Whether a job has ended as people see it. An abandoned job counts, but its status may still change once. */
export function isEnded(status: JobStatus): boolean {
  return !(OPEN_STATUSES as readonly JobStatus[]).includes(status)
}

/**
 * Every legal move. A job is `abandoned` when nobody follows it any more. It may then move once more, to its real
 * outcome. Nothing else leaves a final status.
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

/**
 * The statuses from which a job may move to `To`. With several targets: the statuses from which it may move to each of
 * them.
 */
export type StatusBefore<To extends JobStatus> = {
  [From in JobStatus]: [To] extends [(typeof STATUS_MOVES)[From][number]] ? From : never
}[JobStatus]
