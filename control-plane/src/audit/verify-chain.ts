import { setImmediate as nextTurn } from 'node:timers/promises'
import { type AuditChainRow, countUnchained, readAuditChain, readChained } from '../store/audit/audit-chain.js'
import type { Queries } from '../store/store.js'
import { chainedText } from './record-text.js'

/** Records that are verified between two turns of the event loop. */
const VERIFIED_AT_ONCE = 200
/** How often verifying begins again because old records were removed in the meantime. */
const MAX_TRIES = 5

/** The result of verifying. */
export interface AuditVerification {
  readonly isWhole: boolean
  /** The first problem, in words; null: none. */
  readonly problem: string | null
  /** The verified records by position. `first` is the first one that retention has left. */
  readonly first: number
  readonly head: { readonly position: number; readonly hash: string }
  /** Number of records whose requests have not ended. */
  readonly unchained: number
}

/** Verifies all records that the chain has. */
export async function verifyChain(queries: Queries): Promise<AuditVerification> {
  for (let tries = 1; ; tries += 1) {
    const chain = await readAuditChain(queries)
    const problem = await problemIn(queries, chain)
    const now = await readAuditChain(queries)
    // Retention removed records that were about to be verified.
    if (problem !== null && now.anchor_position !== chain.anchor_position && tries < MAX_TRIES) continue
    return {
      isWhole: problem === null,
      problem,
      first: chain.anchor_position + 1,
      head: { position: chain.head_position, hash: chain.head_hash },
      unchained: await countUnchained(queries),
    }
  }
}

/** The first problem between the anchor and the head; null: none. */
async function problemIn(queries: Queries, chain: AuditChainRow): Promise<string | null> {
  let { anchor_position: position, anchor_hash: previous } = chain
  while (position < chain.head_position) {
    const records = await readChained(queries, position, VERIFIED_AT_ONCE)
    if (records.length === 0) return `the records from position ${position + 1} on are missing`
    for (const record of records) {
      if (record.position !== position + 1) return `the record at position ${position + 1} is missing`
      position += 1
      const { hash } = chainedText(record, position, previous)
      if (record.hash !== hash) return `the record at position ${position} (id ${record.id}) was changed`
      previous = hash
      if (position === chain.head_position) break
    }
    await nextTurn()
  }
  return previous === chain.head_hash ? null : 'the end of the chain is not what it was'
}
