import type { Queries } from '../store.js'

/** A control plane that shares this database. The times are those of its own clock. */
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

/** Stores that a node is alive. @returns false when the others have removed its row */
export async function beatNode(queries: Queries, id: string, time: number): Promise<boolean> {
  const result = await queries.updateTable('node').set({ last_seen: time }).where('id', '=', id).executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** @param lastSeen the node is removed only if its row has not changed since then */
export async function deleteNode(queries: Queries, id: string, lastSeen?: number): Promise<void> {
  let query = queries.deleteFrom('node').where('id', '=', id)
  if (lastSeen !== undefined) query = query.where('last_seen', '=', lastSeen)
  await query.execute()
}

/** Removes the nodes with this address. */
export async function deleteNodesAt(queries: Queries, address: string): Promise<void> {
  await queries.deleteFrom('node').where('address', '=', address).execute()
}
