import type { AgeLimit } from '@holdfast/host/age-limit'
import { type Selectable, sql } from 'kysely'
import { ConflictError } from '../../errors.js'
import type { AuditChainTable, AuditTable } from '../schema/audit.js'
import type { Queries } from '../store.js'

/** The beginning and the end of the chain of the audit trail. */
export type AuditChainRow = Omit<Selectable<AuditChainTable>, 'id'>

/** A record with its position in the chain. */
export interface AuditLink {
  readonly id: number
  readonly status: number | null
  readonly position: number
  readonly hash: string
}

/** The row with the head and the anchor of the chain. */
export async function readAuditChain(queries: Queries): Promise<AuditChainRow> {
  const { id: _, ...chain } = await queries.selectFrom('audit_chain').selectAll().executeTakeFirstOrThrow()
  return chain
}

/**
 * Records outside the chain, oldest first: the complete ones, and those that nobody has completed since `lostBefore`.
 */
export function findUnchained(queries: Queries, lostBefore: number, most: number): Promise<Selectable<AuditTable>[]> {
  return queries
    .selectFrom('audit')
    .selectAll()
    .where('position', 'is', null)
    .where((is) => is.or([is('status', 'is not', null), is('time', '<', lostBefore)]))
    .orderBy('id')
    .limit(most)
    .execute()
}

/** Number of records outside the chain. */
export async function countUnchained(queries: Queries): Promise<number> {
  const query = queries.selectFrom('audit').select((e) => e.fn.countAll<number>().as('count'))
  return Number((await query.where('position', 'is', null).executeTakeFirstOrThrow()).count)
}

/**
 * Adds records at the end of the chain, inside a write. False: another process has added records in the meantime.
 * @throws ConflictError `audit_record_changed` when a record has changed since it was read: then the write is undone,
 * and the caller has to read again
 */
export async function appendToChain(
  queries: Queries,
  before: AuditChainRow,
  links: readonly AuditLink[],
): Promise<boolean> {
  const last = links.at(-1)
  if (!last) return true
  const { numUpdatedRows } = await queries
    .updateTable('audit_chain')
    .set({ head_position: last.position, head_hash: last.hash })
    .where('head_position', '=', before.head_position)
    .where('head_hash', '=', before.head_hash)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  for (const { id, status, position, hash } of links) {
    const record = queries.updateTable('audit').set({ position, hash }).where('id', '=', id)
    const changed = await record
      .where('position', 'is', null)
      // A record without a status may have been completed in the meantime.
      .where('status', status === null ? 'is' : '=', status)
      .executeTakeFirst()
    if (changed.numUpdatedRows === 0n)
      throw new ConflictError(
        'audit_record_changed',
        `the record ${id} of the audit trail changed while it was chained`,
      )
  }
  return true
}

/** Records of the chain after a position, in order. */
export function readChained(queries: Queries, after: number, most: number): Promise<Selectable<AuditTable>[]> {
  return queries.selectFrom('audit').selectAll().where('position', '>', after).orderBy('position').limit(most).execute()
}

/** The hash at a position of the chain, or null. */
export async function chainHashAt(queries: Queries, position: number): Promise<string | null> {
  const query = queries.selectFrom('audit').select('hash').where('position', '=', position)
  return (await query.executeTakeFirst())?.hash ?? null
}

/**
 * The last record that retention may remove with all records before it; null: none. The first record with a time from
 * `before` to `now` stops it. A record from the future, made when a clock was wrong, is old when a record after it is.
 */
export async function findLastOldRecord(queries: Queries, before: AgeLimit, now: number): Promise<number | null> {
  const { anchor_position: anchor } = await readAuditChain(queries)
  const chained = queries.selectFrom('audit').select('position').where('position', '>', anchor)
  // Without the sum, SQLite might choose the index of times, and sort all young records.
  const time = sql<number>`time + 0`
  const young = chained.where(time, '>=', before).where(time, '<=', now).orderBy('position').limit(1)
  const end = (await young.executeTakeFirst())?.position ?? null
  const old = end === null ? chained : chained.where('position', '<', end)
  const query = old.where(time, '<', before).orderBy('position', 'desc').limit(1)
  return (await query.executeTakeFirst())?.position ?? null
}

/**
 * Removes records from the beginning of the chain up to a position, inside a write, but at most `most`. The rest can
 * still be verified, because the hash of the last removed record is kept.
 * @returns how many were removed
 */
export async function deleteAuditUpTo(queries: Queries, position: number, most: number): Promise<number> {
  const chain = await readAuditChain(queries)
  const old = await queries
    .selectFrom('audit')
    .select(['position', 'hash'])
    .where('position', '>', chain.anchor_position)
    .where('position', '<=', position)
    .orderBy('position')
    .limit(most)
    .execute()
  const last = old.at(-1)
  if (!last || last.position === null || last.hash === null) return 0
  await queries
    .updateTable('audit_chain')
    .set({ anchor_position: last.position, anchor_hash: last.hash })
    .where('anchor_position', '=', chain.anchor_position)
    .execute()
  await queries.deleteFrom('audit').where('position', '<=', last.position).execute()
  return old.length
}
