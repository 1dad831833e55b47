import type { Queries } from '../store.js'

/** A control plane that shares this database. Times are its own clock's. */
export interface ServiceNodeRow {
  readonly id: string
  readonly version: string
  /** Host and port, for people. */
  readonly address: string
  readonly started_at: number
  readonly last_seen: number
}

/** All nodes. */
export function listNodes(queries: Queries): Promise<ServiceNodeRow[]> {
  return queries.selectFrom('node').selectAll().orderBy('id').execute()
}

/** Stores a node that begins. */
export async function insertNode(queries: Queries, node: ServiceNodeRow): Promise<void> {
  await queries.insertInto('node').values(node).execute()
}

/** Notes that a node is there. @returns false when it has been forgotten */
export async function beatNode(queries: Queries, id: string, time: number): Promise<boolean> {
  const result = await queries.updateTable('node').set({ last_seen: time }).where('id', '=', id).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** @param lastSeen only when it has not moved since */
export async function deleteNode(queries: Queries, id: string, lastSeen?: number): Promise<void> {
  let query = queries.deleteFrom('node').where('id', '=', id)
  if (lastSeen !== undefined) query = query.where('last_seen', '=', lastSeen)
  await query.execute()
}

/** Removes the nodes with this address. */
export async function deleteNodesAt(queries: Queries, address: string): Promise<void> {
  await queries.deleteFrom('node').where('address', '=', address).execute()
}
