import type { Queries } from '../store.js'

/** The holder of a lock, and since when. If the holder has been silent for too long, the lock is free. */
export interface Lock {
  /** As it is shown. */
  readonly holder: string
  /** The account; null: it is gone. */
  readonly holderId: number | null
  readonly takenAt: number
  readonly touchedAt: number
}

/**
 * The present lock; null when it is free.
 * @param silentSince a lock that was last touched at this time or earlier is free
 */
export async function findLock(queries: Queries, name: string, silentSince: number): Promise<Lock | null> {
  const row = await queries
    .selectFrom('lock')
    .selectAll()
    .where('name', '=', name)
    .where('touched_at', '>', silentSince)
    .executeTakeFirst()
  return row ? { holder: row.holder, holderId: row.holder_id, takenAt: row.taken_at, touchedAt: row.touched_at } : null
}

/** Stores the lock as held, whoever held it before. */
export async function putLock(queries: Queries, name: string, lock: Lock): Promise<void> {
  const columns = { holder: lock.holder, holder_id: lock.holderId, taken_at: lock.takenAt, touched_at: lock.touchedAt }
  await queries
    .insertInto('lock')
    .values({ name, ...columns })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute()
}

/** Removes a lock, whoever holds it. */
export async function deleteLock(queries: Queries, name: string): Promise<void> {
  await queries.deleteFrom('lock').where('name', '=', name).execute()
}

/** Whether somebody held the lock and has been silent since. @param silentSince see {@link findLock} */
export async function hasSilentLock(queries: Queries, name: string, silentSince: number): Promise<boolean> {
  const query = queries.selectFrom('lock').select('name').where('name', '=', name)
  return (await query.where('touched_at', '<=', silentSince).executeTakeFirst()) !== undefined
}

/** Removes the lock of a silent holder. @returns false when it was taken again, or is gone */
export async function deleteSilentLock(queries: Queries, name: string, silentSince: number): Promise<boolean> {
  const query = queries.deleteFrom('lock').where('name', '=', name).where('touched_at', '<=', silentSince)
  return (await query.executeTakeFirst()).numDeletedRows > 0n
}
