import type { Queries } from '../store.js'

/** Until when a key is held back; null: it is not. */
export async function lockedUntil(queries: Queries, key: string, now: number): Promise<number | null> {
  const row = await queries
    .selectFrom('sign_in_failure')
    .select('locked_until')
    .where('key', '=', key)
    .where('locked_until', '>', now)
    .executeTakeFirst()
  return row?.locked_until ?? null
}

export interface FailureLimit {
  /** Failures within the window after which the key is held back. */
  readonly failures: number
  /** How long failures count together, in milliseconds. */
  readonly windowMs: number
  /** How long the key is held back for the first time, in milliseconds. Each further time is twice as long. */
  readonly lockMs: number
}

/** Longest time for which a key is held back, and how long it is remembered that it was, in milliseconds. */
const MAX_LOCK_MS = 24 * 3_600_000
const LOCKS_COUNT_MS = 24 * 3_600_000

/**
 * Counts one failed sign-in. Failures older than the window, or from before a lock that is over, do not count; that
 * there was a lock does: the next one is longer.
 * @returns whether this one was the one too many
 */
export async function countFailure(queries: Queries, key: string, limit: FailureLimit, now: number): Promise<boolean> {
  const row = await queries.selectFrom('sign_in_failure').selectAll().where('key', '=', key).executeTakeFirst()
  const isOver = row && (row.locked_until === null ? row.first_at <= now - limit.windowMs : row.locked_until <= now)
  const continues = row !== undefined && !isOver
  const failures = continues ? row.failures + 1 : 1
  const first_at = continues ? row.first_at : now
  const locksBefore = row && (row.locks_count_until ?? 0) > now ? row.locks : 0
  const isTooMany = failures === limit.failures
  const locks = isTooMany ? locksBefore + 1 : locksBefore
  const lockMs = Math.min(MAX_LOCK_MS, limit.lockMs * 2 ** Math.max(0, locks - 1))
  const locked_until = failures >= limit.failures ? now + lockMs : null
  const locks_count_until = locked_until === null ? (row?.locks_count_until ?? null) : locked_until + LOCKS_COUNT_MS
  const values = { failures, first_at, locked_until, locks, locks_count_until }
  await queries
    .insertInto('sign_in_failure')
    .values({ key, ...values })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
    .execute()
  return isTooMany
}

export async function forgetFailures(queries: Queries, key: string): Promise<void> {
  await queries.deleteFrom('sign_in_failure').where('key', '=', key).execute()
}

/** Forgets the failures of every key that begins like this. @param prefix ends with a character before `~` */
export async function forgetFailuresOf(queries: Queries, prefix: string): Promise<void> {
  await queries.deleteFrom('sign_in_failure').where('key', '>=', prefix).where('key', '<', `${prefix}~`).execute()
}

/** Removes counts that no longer mean anything. @returns how many there were */
export async function deleteOldFailures(queries: Queries, windowMs: number, now: number): Promise<number> {
  const result = await queries
    .deleteFrom('sign_in_failure')
    .where('first_at', '<=', now - windowMs)
    .where((where) => where.or([where('locked_until', 'is', null), where('locked_until', '<=', now)]))
    .where((where) => where.or([where('locks_count_until', 'is', null), where('locks_count_until', '<=', now)]))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
