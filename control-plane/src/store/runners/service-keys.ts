import type { Selectable } from 'kysely'
import type { ServiceKeyTable } from '../schema.js'
import type { Queries } from '../store.js'

/** A key of the control plane as the database knows it. Times are milliseconds since the epoch. */
export interface StoredServiceKey {
  readonly id: number
  /** Raw, base64. */
  readonly publicKey: string
  /** Sealed; null once the key was replaced. */
  readonly privateKey: Buffer | null
  /** By this key over the one that replaced it. */
  readonly signature: string | null
  readonly createdAt: number
}

/** Today's key first, then those that it replaced, the newest first. */
export async function listServiceKeys(queries: Queries): Promise<StoredServiceKey[]> {
  return (await queries.selectFrom('service_key').selectAll().orderBy('id', 'desc').execute()).map(parseServiceKey)
}

/** Adds today's key. */
export async function insertServiceKey(
  queries: Queries,
  key: { readonly publicKey: string; readonly privateKey: Buffer; readonly createdAt: number },
): Promise<void> {
  const row = { public_key: key.publicKey, private_key: key.privateKey, signature: null, created_at: key.createdAt }
  await queries.insertInto('service_key').values(row).execute()
}

/** A key was replaced: its private half goes, its signature over the next one stays. */
export async function retireServiceKey(queries: Queries, id: number, signature: string | null): Promise<void> {
  await queries.updateTable('service_key').set({ private_key: null, signature }).where('id', '=', id).execute()
}

export async function deleteServiceKeys(queries: Queries, ids: readonly number[]): Promise<void> {
  if (ids.length > 0) await queries.deleteFrom('service_key').where('id', 'in', ids).execute()
}

function parseServiceKey(row: Selectable<ServiceKeyTable>): StoredServiceKey {
  return {
    id: row.id,
    publicKey: row.public_key,
    privateKey: row.private_key,
    signature: row.signature,
    createdAt: row.created_at,
  }
}
