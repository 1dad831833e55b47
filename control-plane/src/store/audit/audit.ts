import type { Selectable } from 'kysely'
import type { AuditTable } from '../schema/audit.js'
import type { Queries } from '../store.js'
import type { UserType } from '../../words/user-type.js'

/** Who did what, to what, and with which result. Never values, passwords or tokens. */
export interface AuditEntry {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** Null: nobody, or an unknown caller. */
  readonly user: { readonly name: string; readonly type: UserType; readonly id?: number | null } | null
  readonly address: string
  /** Such as `job.abort`. */
  readonly action: string
  readonly object: { readonly kind: string; readonly id: string | null; readonly name: string | null }
  /** The status of the answer; null: the service ended before it answered. */
  readonly status: number | null
  readonly requestId: string
  /** A special request, such as `force`; null: none. */
  readonly detail?: string | null
}

/** A record as it is stored. */
export interface StoredAuditEntry extends AuditEntry {
  readonly id: number
  /** Its position in the chain and its hash; null: it is not in the chain yet. */
  readonly position: number | null
  readonly hash: string | null
}

/** @returns the id of the record */
export async function insertAudit(queries: Queries, entry: AuditEntry): Promise<number> {
  const { id } = await queries
    .insertInto('audit')
    .values({ time: entry.time, address: entry.address, request_id: entry.requestId, ...changeableOf(entry) })
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/**
 * Completes a record with what was unknown when it was inserted. If the record is in the chain already, another record
 * is inserted.
 */
export async function completeAudit(queries: Queries, id: number, entry: AuditEntry): Promise<void> {
  const record = queries.updateTable('audit').set(changeableOf(entry)).where('id', '=', id)
  const { numUpdatedRows } = await record.where('position', 'is', null).executeTakeFirst()
  if (numUpdatedRows === 0n) await insertAudit(queries, entry)
}

/** Which records are wanted. A filter that is left out does not limit them. */
export interface AuditFilter {
  /** Only records older than this one. */
  readonly before?: number
  readonly user?: string
  readonly userType?: UserType
  readonly action?: string
}

/** Newest first, at most `limit`. */
export async function listAudit(queries: Queries, filter: AuditFilter, limit: number): Promise<StoredAuditEntry[]> {
  let query = queries.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(limit)
  if (filter.before !== undefined) query = query.where('id', '<', filter.before)
  if (filter.user !== undefined) query = query.where('user_name', '=', filter.user)
  if (filter.userType !== undefined) query = query.where('user_type', '=', filter.userType)
  if (filter.action !== undefined) query = query.where('action', '=', filter.action)
  return (await query.execute()).map(parseEntry)
}

function changeableOf({ user, action, object, status, detail }: AuditEntry) {
  return {
    user_name: user?.name ?? null,
    user_type: user?.type ?? null,
    user_id: user?.id ?? null,
    action,
    object_kind: object.kind,
    object_id: object.id,
    object_name: object.name,
    status,
    detail: detail ?? null,
  }
}

function parseEntry(row: Selectable<AuditTable>): StoredAuditEntry {
  return {
    id: row.id,
    time: row.time,
    user: row.user_name === null ? null : { name: row.user_name, type: row.user_type ?? 'local', id: row.user_id },
    address: row.address,
    action: row.action,
    object: { kind: row.object_kind, id: row.object_id, name: row.object_name },
    status: row.status,
    requestId: row.request_id,
    detail: row.detail,
    position: row.position,
    hash: row.hash,
  }
}
