import { createSerialQueue } from '@holdfast/host/queues'
import type { Timers } from './timers.js'

/** Repeated clean-up while the service runs, one task at a time. */
export interface Sweeps {
  /** True from `close` on: a sweep with many steps stops then. */
  readonly isClosed: boolean
  /** Runs a task as soon as the current one has ended. Returns at once. After `close` nothing begins any more. */
  soon(task: () => Promise<void>): void
  /**
   * Runs a task as soon as the current one has ended. After `close` nothing begins any more.
   * @throws what the task throws
   */
  inTurn(task: () => Promise<void>): Promise<void>
  /** Drops what has not begun. Resolves when the current task has ended. */
  close(): Promise<void>
}

/** What sweeps need of other parts. */
export interface SweepDependencies {
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}

/** How a part sweeps. */
export interface SweepOptions {
  readonly everyMs: number
  /** What is logged when a sweep fails. */
  readonly failure: string
  readonly sweep: () => Promise<void>
}

/** A part that does nothing but sweep. */
export interface Sweeper {
  /**
   * One sweep, when the current one has ended. Sweeps also run by themselves.
   * @throws what the sweep throws
   */
  sweep(): Promise<void>
  /** Resolves when a sweep that runs at the moment has ended. */
  close(): Promise<void>
}

/**
 * Starts a part that does nothing but sweep.
 * @param options.sweep gets the sweeps, so that a sweep with many steps can stop when they are closed
 */
export function startSweeper(
  deps: SweepDependencies,
  options: Omit<SweepOptions, 'sweep'> & { readonly sweep: (sweeps: { readonly isClosed: boolean }) => Promise<void> },
): Sweeper {
  const sweep = () => options.sweep(sweeps)
  const sweeps: Sweeps = startSweeps(deps, { ...options, sweep })
  return { sweep: () => sweeps.inTurn(sweep), close: () => sweeps.close() }
}

/**
 * Sweeps at once, and then every `everyMs`. Without the first sweep, a service that is restarted every day would never
 * sweep. A sweep that fails is reported to `failure`, and tried again the next time. One sweep at most waits for the
 * current task: while the database is away a sweep takes longer than a period, and a queue of sweeps would grow until
 * it is back.
 */
export function startSweeps(deps: SweepDependencies, options: SweepOptions): Sweeps {
  const tasks = createSerialQueue()
  let isClosed = false
  let sweepWaits = false

  function inTurn(task: () => Promise<void>): Promise<void> {
    return tasks.add(async () => (isClosed ? undefined : task()))
  }

  function soon(task: () => Promise<void>): void {
    inTurn(task).catch((error: unknown) => {
      deps.log.warn({ err: error }, `${options.failure}; tried again later`)
    })
  }

  function sweepSoon(): void {
    if (sweepWaits) return
    sweepWaits = true
    soon(() => {
      sweepWaits = false
      return options.sweep()
    })
  }

  sweepSoon()
  const stop = deps.timers.every(options.everyMs, sweepSoon)
  return {
    get isClosed() {
      return isClosed
    },
    soon,
    inTurn,
    async close() {
      isClosed = true
      stop()
      await tasks.idle()
    },
  }
}
