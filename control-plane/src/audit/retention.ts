import type { Clock } from '../time/clock.js'
import { deleteAuditBefore } from '../store/audit/audit-chain.js'
import type { Store } from '../store/store.js'
import { startSweeps } from '../time/sweeps.js'
import type { Timers } from '../time/timers.js'

const SWEEP_EVERY_MS = 60 * 60_000
/** Records that one write removes. Small writes let other writes get their turn. */
const MAX_AT_ONCE = 1000

/** Removes records of the audit trail whose time is over. */
export interface AuditRetention {
  sweep(): Promise<void>
  /** Resolves when a sweep that runs at the moment has ended. */
  close(): Promise<void>
}

/** @param keepMs how long records are kept; null: for ever */
export function createAuditRetention(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
  /** Only records in the chain are removed, so that the rest can still be verified. */
  readonly chain: { sweep(): Promise<void> }
  readonly keepMs: number | null
}): AuditRetention {
  const { store, clock, keepMs } = deps

  async function sweep(): Promise<void> {
    if (keepMs === null) return
    const now = clock.now()
    const range = { time: now - keepMs, now, most: MAX_AT_ONCE }
    await deps.chain.sweep()
    while (!sweeps.isClosed) {
      const removed = await store.write('audit.sweep', (queries) => deleteAuditBefore(queries, range))
      if (removed < MAX_AT_ONCE) return
    }
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'old records of the audit trail could not be removed',
    sweep,
  })
  return { sweep, close: () => sweeps.close() }
}
