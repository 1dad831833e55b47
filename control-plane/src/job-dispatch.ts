import type { JobStatus } from './job-status.js'

/**
 * Where a job is on its way to a runner. `parked` is not on its way yet: something has to happen before. `driven` never
 * goes to one: it consists of other jobs. `done`: it has ended.
 */
export const DISPATCHES = ['parked', 'queued', 'offered', 'claimed', 'driven', 'done'] as const
export type Dispatch = (typeof DISPATCHES)[number]

/**
 * Every legal move. A job is parked again when its approval is outdated or another one is needed. What a runner has is
 * claimed, also when the offer of it was taken back. A job is moved to `done` with its end, and never leaves that.
 */
export const DISPATCH_MOVES = {
  parked: ['queued', 'driven', 'done'],
  queued: ['offered', 'claimed', 'parked', 'done'],
  offered: ['queued', 'claimed', 'parked', 'done'],
  claimed: ['claimed', 'done'],
  driven: ['parked', 'driven', 'done'],
  done: ['done'],
} as const satisfies Record<Dispatch, readonly Dispatch[]>

/** Where a job may be that is moved to a status. An abandoned job stays where it was: its runner may still have it. */
export const DISPATCH_OF_STATUS = {
  running: ['queued', 'driven'],
  approve: ['parked'],
  success: ['done'],
  failed: ['done'],
  warning: ['done'],
  aborted: ['done'],
  rejected: ['done'],
  abandoned: [],
} as const satisfies Record<JobStatus, readonly Dispatch[]>

/** The places from which a job may move to `To`. */
export type DispatchBefore<To extends Dispatch> = {
  [From in Dispatch]: [To] extends [(typeof DISPATCH_MOVES)[From][number]] ? From : never
}[Dispatch]
