import type { Queries } from './store.js'

/** Why a connection may not write for its runner any more. */
export type Fenced = 'taken_over' | 'revoked' | 'removed'

/** Null while the connection of this epoch is the newest of an approved runner. */
export async function findFence(queries: Queries, runnerId: number, epoch: number): Promise<Fenced | null> {
  const row = await queries
    .selectFrom('runner')
    .select(['epoch', 'state'])
    .where('id', '=', runnerId)
    .executeTakeFirst()
  if (!row) return 'removed'
  if (row.state !== 'approved') return 'revoked'
  return row.epoch === epoch ? null : 'taken_over'
}

/**
 * The same, and nobody can take the runner over or revoke it until the write that this is in is done: changing a row, if
 * only to what it is, makes others wait on every database.
 */
export async function holdFence(queries: Queries, runnerId: number, epoch: number): Promise<Fenced | null> {
  const held = await queries
    .updateTable('runner')
    .set({ epoch })
    .where('id', '=', runnerId)
    .where('epoch', '=', epoch)
    .where('state', '=', 'approved')
    .executeTakeFirst()
  return held.numUpdatedRows > 0n ? null : ((await findFence(queries, runnerId, epoch)) ?? 'taken_over')
}
