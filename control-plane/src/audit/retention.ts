import type { Clock } from '../clock.js'
import { deleteAuditBefore } from '../store/audit.js'
import type { Store } from '../store/store.js'
import type { Timers } from '../timers.js'

const SWEEP_EVERY_MS = 60 * 60_000
/** Records that one write removes, so that other writes get their turn. */
const MOST_AT_ONCE = 1000

/** Removes records of the audit trail that are older than they have to be kept. */
export interface AuditRetention {
  sweep(): Promise<void>
  /** Resolves when a sweep that is under way has ended. */
  close(): Promise<void>
}

/** @param keepMs how long records are kept; null: for ever */
export function createAuditRetention(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
  readonly keepMs: number | null
}): AuditRetention {
  const { store, clock, keepMs } = deps
  let running: Promise<void> = Promise.resolve()
  let isClosed = false

  async function sweep(): Promise<void> {
    if (keepMs === null) return
    const before = clock.now() - keepMs
    while (!isClosed) {
      const removed = await store.write('audit.sweep', (queries) => deleteAuditBefore(queries, before, MOST_AT_ONCE))
      if (removed < MOST_AT_ONCE) return
    }
  }

  function sweepQuietly(): void {
    running = running.then(sweep).catch((error: unknown) => {
      deps.log.warn({ err: error }, 'old records of the audit trail could not be removed; tried again later')
    })
  }

  // A service that is started anew every day would else never come to it.
  sweepQuietly()
  const stop = deps.timers.every(SWEEP_EVERY_MS, sweepQuietly)
  return {
    sweep,
    async close() {
      isClosed = true
      stop()
      await running
    },
  }
}
