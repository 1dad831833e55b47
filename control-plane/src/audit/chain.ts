import type { Clock } from '../time/clock.js'
import { ConflictError } from '../errors.js'
import { appendToChain, chainHashAt, findUnchained, readAuditChain } from '../store/audit/audit-chain.js'
import type { RawStore } from '../store/store.js'
import { startSweeps } from '../time/sweeps.js'
import type { Timers } from '../time/timers.js'
import { chainedText } from './record-text.js'
import { type AuditVerification, verifyChain } from './verify-chain.js'

const SWEEP_EVERY_MS = 2000
/** Records that one write adds to the chain. Small writes let other writes get their turn. */
const MAX_AT_ONCE = 200
/**
 * After this time, in milliseconds, a record without a status is added as it is: the node that began the request is
 * gone.
 */
const LOST_AFTER_MS = 15 * 60_000

/**
 * The chain of the audit trail: each record holds the hash of the record before it. Several nodes write records at
 * once, in the transactions of the requests. So the chain is made shortly afterwards:
 *
 * - A sweep of any node adds complete records at the end, in the order of their ids, as far as they are visible. If two
 *   nodes do so at once, one of them finds another head and looks again.
 * - A record with a position is never changed. An answer that comes later becomes a record of its own.
 * - Retention removes records from the beginning, and keeps the hash of the last record that it removed.
 *
 * Whoever can write the database can make the whole chain again. So the head, or all records, should be stored
 * elsewhere, too.
 */
export type AuditChain = ReturnType<typeof createAuditChain>

/** Makes the chain of the audit trail. */
export function createAuditChain(deps: {
  readonly store: RawStore
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}) {
  const { store, clock } = deps
  let verifying: Promise<AuditVerification> | null = null

  async function chainSome(): Promise<boolean> {
    const chain = await readAuditChain(store.read)
    const records = await findUnchained(store.read, clock.now() - LOST_AFTER_MS, MAX_AT_ONCE)
    if (records.length === 0) return false
    let { head_position: position, head_hash: previous } = chain
    const links = records.map((record) => {
      position += 1
      const { hash } = chainedText(record, position, previous)
      previous = hash
      return { id: record.id, status: record.status, position, hash }
    })
    const isDone = await store.write('audit.chain', (queries) => appendToChain(queries, chain, links)).catch(lookAgain)
    // Another node was faster. The records that it left are next.
    return !isDone || records.length === MAX_AT_ONCE
  }

  /** Adds all complete records to the chain. */
  async function sweep(): Promise<void> {
    while ((await chainSome()) && !sweeps.isClosed);
  }

  async function verifyAll(): Promise<AuditVerification> {
    await sweep()
    return verifyChain(store.read)
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'records of the audit trail could not be chained',
    sweep,
  })

  return {
    sweep,
    /** @param known a head that was written down before: the chain must still have this hash at this position */
    async verify(known?: { readonly position: number; readonly hash: string }): Promise<AuditVerification> {
      // Callers at the same time share one verification.
      verifying ??= verifyAll().finally(() => {
        verifying = null
      })
      const found = await verifying
      if (!known || !found.isWhole || known.position < found.first) return found
      const hash = await chainHashAt(store.read, known.position)
      if (hash === known.hash) return found
      const problem = `at position ${known.position} the chain has ${hash ?? 'no record'}, and not the hash that was noted`
      return { ...found, isWhole: false, problem }
    },
    close: () => sweeps.close(),
  }
}

/** False when a record without a status was completed just now. The next look finds it complete. */
function lookAgain(error: unknown): boolean {
  if (error instanceof ConflictError && error.code === 'audit_record_changed') return false
  throw error
}
