import type { Ages } from '../ages/age-limits.js'
import type { Clock } from '../time/clock.js'
import { deleteAuditUpTo, findLastOldRecord } from '../store/audit/audit-chain.js'
import type { RawStore } from '../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../time/sweeps.js'

const SWEEP_EVERY_MS = 60 * 60_000
/** Records that one write removes. Small writes let other writes get their turn. */
const MAX_AT_ONCE = 1000

/**
 * Makes the part that removes records of the audit trail whose time is over.
 * @param keepMs how long records are kept; null: for ever
 */
export function createAuditRetention(
  deps: SweepDependencies & {
    readonly store: RawStore
    readonly clock: Clock
    readonly ages: Ages
    /** Only records in the chain are removed, so that the rest can still be verified. */
    readonly chain: { sweep(): Promise<void> }
    readonly keepMs: number | null
  },
): Sweeper {
  const { store, clock, ages, keepMs } = deps

  async function sweep(sweeps: { readonly isClosed: boolean }): Promise<void> {
    if (keepMs === null) return
    const before = await ages.of(keepMs)
    if (before === null) return
    await deps.chain.sweep()
    const last = await findLastOldRecord(store.read, before, clock.now())
    if (last === null) return
    while (!sweeps.isClosed) {
      const removed = await store.write('audit.sweep', (queries) => deleteAuditUpTo(queries, last, MAX_AT_ONCE))
      if (removed < MAX_AT_ONCE) return
    }
  }

  return startSweeper(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'old records of the audit trail could not be removed',
    sweep,
  })
}
