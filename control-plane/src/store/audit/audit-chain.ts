import type { Selectable } from 'kysely'
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
 * Removes records from the beginning of the chain, inside a write: those before `time`, at most `most`, up to the first
 * one that is younger. The rest can still be verified, because the hash of the last removed record is kept. A record
 * from the future, made when a clock was wrong, does not stop it.
 * @returns how many were removed
 */
export async function deleteAuditBefore(
  queries: Queries,
  { time, now, most }: { readonly time: number; readonly now: number; readonly most: number },
): Promise<number> {
  const chain = await readAuditChain(queries)
  const oldest = await queries
    .selectFrom('audit')
    .select(['position', 'hash', 'time'])
    .where('position', '>', chain.anchor_position)
    .orderBy('position')
    .limit(most)
    .execute()
  const firstYoung = oldest.findIndex((record) => record.time >= time && record.time <= now)
  const old = firstYoung === -1 ? oldest : oldest.slice(0, firstYoung)
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
