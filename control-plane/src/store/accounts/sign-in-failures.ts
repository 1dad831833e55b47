import type { Queries } from '../store.js'

/** The time until which a key is locked; null: it is not locked. */
export async function lockedUntil(queries: Queries, key: string, now: number): Promise<number | null> {
  const row = await queries
    .selectFrom('sign_in_failure')
    .select('locked_until')
    .where('key', '=', key)
    .where('locked_until', '>', now)
    .executeTakeFirst()
  return row?.locked_until ?? null
}

/** When a key is locked, and for how long. */
export interface FailureLimit {
  /** Number of failures within the window after which the key is locked. */
  readonly failures: number
  /** The window: how long failures are counted together, in milliseconds. */
  readonly windowMs: number
  /** The first lock, in milliseconds. Each further lock takes twice as long. */
  readonly lockMs: number
}

/** The longest lock, and how long a lock is remembered, in milliseconds. */
const MAX_LOCK_MS = 24 * 3_600_000
const LOCKS_COUNT_MS = 24 * 3_600_000

/**
 * Counts one failed sign-in. Failures before the window, or before a lock that is over, do not count. The earlier lock
 * itself counts: the next one takes longer.
 * @returns whether this failure was one too many
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

/** Removes the failures of a key. */
export async function forgetFailures(queries: Queries, key: string): Promise<void> {
  await queries.deleteFrom('sign_in_failure').where('key', '=', key).execute()
}

/** Removes the failures of every key with this prefix. @param prefix ends with a character before `~` */
export async function forgetFailuresOf(queries: Queries, prefix: string): Promise<void> {
  await queries.deleteFrom('sign_in_failure').where('key', '>=', prefix).where('key', '<', `${prefix}~`).execute()
}

/** Removes counts that have no effect any more. @returns how many there were */
export async function deleteOldFailures(queries: Queries, windowMs: number, now: number): Promise<number> {
  const result = await queries
    .deleteFrom('sign_in_failure')
    .where('first_at', '<=', now - windowMs)
    .where((where) => where.or([where('locked_until', 'is', null), where('locked_until', '<=', now)]))
    .where((where) => where.or([where('locks_count_until', 'is', null), where('locks_count_until', '<=', now)]))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
