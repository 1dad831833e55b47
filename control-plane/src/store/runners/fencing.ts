import type { Queries } from '../store.js'

/** Why a connection may not write for its runner any more. */
export type Fenced = 'taken_over' | 'revoked' | 'removed'

/** Returns null while the connection with this epoch is the newest one of an approved runner. */
export async function findFence(queries: Queries, runnerId: number, epoch: number): Promise<Fenced | null> {
  const query = queries.selectFrom('runner').select(['epoch', 'state']).where('id', '=', runnerId)
  const row = await query.executeTakeFirst()
  if (!row) return 'removed'
  if (row.state !== 'approved') return 'revoked'
  return row.epoch === epoch ? null : 'taken_over'
}
