import { createSerialQueue } from '@holdfast/host/queues'
import type { Timers } from './timers.js'

/** Repeated clean-up while the service runs, one task at a time. */
export type Sweeps = ReturnType<typeof startSweeps>

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
export function startSweeps(deps: SweepDependencies, options: SweepOptions) {
  const tasks = createSerialQueue()
  let isClosed = false
  let sweepWaits = false

  /**
   * Runs a task as soon as the current one has ended. After `close` nothing begins any more.
   * @throws what the task throws
   */
  function inTurn(task: () => Promise<void>): Promise<void> {
    return tasks.add(async () => (isClosed ? undefined : task()))
  }

  /** Runs a task as soon as the current one has ended. Returns at once. After `close` nothing begins any more. */
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
    /** True from `close` on: a sweep with many steps stops then. */
    get isClosed(): boolean {
      return isClosed
    },
    soon,
    inTurn,
    /** Drops what has not begun. Resolves when the current task has ended. */
    async close(): Promise<void> {
      isClosed = true
      stop()
      await tasks.idle()
    },
  }
}
