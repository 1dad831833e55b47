import type { JobStatus } from './job-status.js'

/**
 * Where a job is on its way to a runner. `parked`: it is not on its way yet, because it waits for an approval, or for a
 * free place in its group. `driven`: a parent job, which never goes to a runner. `done`: it has ended. Runners are
 * offered only queued jobs. Only these fail for waiting too long. A parked or driven job is not abandoned.
 */
export const DISPATCHES = ['parked', 'queued', 'offered', 'claimed', 'driven', 'done'] as const
/** One of {@link DISPATCHES}. */
export type Dispatch = (typeof DISPATCHES)[number]

/**
 * Every legal move. A job is parked again when its approval is outdated or it needs another one. A job that its runner
 * has is claimed, also when its offer was taken back. A job gets `done` with its end, and then never moves again.
 */
export const DISPATCH_MOVES = {
  parked: ['queued', 'driven', 'done'],
  queued: ['offered', 'claimed', 'parked', 'done'],
  offered: ['queued', 'claimed', 'parked', 'done'],
  claimed: ['claimed', 'done'],
  driven: ['parked', 'driven', 'done'],
  done: ['done'],
} as const satisfies Record<Dispatch, readonly Dispatch[]>

/** The dispatch states that fit a status. An abandoned job keeps its state, because its runner may still have it. */
export const DISPATCH_OF_STATUS = {
  // Parked while it runs: it waits for a place in its group.
  running: ['parked', 'queued', 'driven'],
  approve: ['parked'],
  success: ['done'],
  failed: ['done'],
  warning: ['done'],
  aborted: ['done'],
  rejected: ['done'],
  abandoned: [],
} as const satisfies Record<JobStatus, readonly Dispatch[]>

/** The dispatch states from which a job may move to `To`. */
export type DispatchBefore<To extends Dispatch> = {
  [From in Dispatch]: [To] extends [(typeof DISPATCH_MOVES)[From][number]] ? From : never
}[Dispatch]
