import type { CheckInput, CheckResult } from '../check/context.js'

/** The data with which a worker is made. */
export interface WorkerSettings {
  /** The locale for scripts that name none; null: that of the machine. */
  readonly locale: string | null
}

/** To the worker: one check at a time. */
export interface CheckOrder {
  readonly input: CheckInput
}

/** From the worker. */
export type CheckReport =
  /** The thread is ready. From now on it works on the check. */
  | { readonly kind: 'begins' }
  /** A script or pattern of this field begins to run. */
  | { readonly kind: 'at'; readonly field: string }
  /** @property isFit false: the engine broke down, and this worker must not be used again */
  | { readonly kind: 'done'; readonly result: CheckResult; readonly isFit: boolean }
  | { readonly kind: 'failed'; readonly reason: string }
