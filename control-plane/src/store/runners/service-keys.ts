import type { Selectable } from 'kysely'
import type { ServiceKeyTable } from '../schema/runners.js'
import type { Queries } from '../store.js'

/** A key of the control plane as it is stored. Times are in milliseconds since the epoch. */
export interface StoredServiceKey {
  readonly id: number
  /** Raw, base64. */
  readonly publicKey: string
  /** Encrypted; null after the key was replaced. */
  readonly privateKey: Buffer | null
  /** Made with this key, over the key that replaced it. */
  readonly signature: string | null
  readonly createdAt: number
}

/** The current key first, then the earlier ones, newest first. */
export async function listServiceKeys(queries: Queries): Promise<StoredServiceKey[]> {
  return (await queries.selectFrom('service_key').selectAll().orderBy('id', 'desc').execute()).map(parseServiceKey)
}

/** Adds a key, which becomes the current one. */
export async function insertServiceKey(
  queries: Queries,
  key: { readonly publicKey: string; readonly privateKey: Buffer; readonly createdAt: number },
): Promise<void> {
  const row = { public_key: key.publicKey, private_key: key.privateKey, signature: null, created_at: key.createdAt }
  await queries.insertInto('service_key').values(row).execute()
}

/** Retires a key: its private half is removed, and its signature over the next key stays. */
export async function retireServiceKey(queries: Queries, id: number, signature: string | null): Promise<void> {
  await queries.updateTable('service_key').set({ private_key: null, signature }).where('id', '=', id).execute()
}

/** Removes keys by id. */
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
