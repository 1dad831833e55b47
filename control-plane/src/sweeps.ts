import type { Timers } from './timers.js'

/** Tidying up that goes on as long as the service runs, one piece of work at a time. */
export interface Sweeps {
  /** True from `close` on: a sweep of many steps stops then. */
  readonly isClosed: boolean
  /** Does something as soon as what is under way has ended. Returns at once. */
  soon(task: () => Promise<void>): void
  /** Resolves when what is under way has ended. */
  close(): Promise<void>
}

/**
 * Sweeps at once, since a service that is started anew every day would else never come to it, and then every `everyMs`.
 * A sweep that fails is told as `failure` and tried again the next time.
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
