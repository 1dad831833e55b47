import type { Timers } from './timers.js'

/** Repeated clean-up while the service runs, one task at a time. */
export interface Sweeps {
  /** True from `close` on: a sweep with many steps stops then. */
  readonly isClosed: boolean
  /** Runs a task as soon as the current one has ended. Returns at once. */
  soon(task: () => Promise<void>): void
  /** Resolves when the current task has ended. */
  close(): Promise<void>
}

/**
 * Sweeps at once, and then every `everyMs`. Without the first sweep, a service that is restarted every day would never
 * sweep. A sweep that fails is reported to `failure`, and tried again the next time.
 */
export function startSweeps(
  deps: { readonly timers: Timers; readonly log: { warn(fields: object, text: string): void } },
  options: { readonly everyMs: number; readonly failure: string; readonly sweep: () => Promise<void> },
): Sweeps {
  let running: Promise<void> = Promise.resolve()
  let isClosed = false

  function soon(task: () => Promise<void>): void {
    running = running.then(task).catch((error: unknown) => {
      deps.log.warn({ err: error }, `${options.failure}; tried again later`)
    })
  }

  soon(options.sweep)
  const stop = deps.timers.every(options.everyMs, () => soon(options.sweep))
  return {
    get isClosed() {
      return isClosed
    },
    soon,
    async close() {
      isClosed = true
      stop()
      await running
    },
  }
}
