import type { Queries } from './store.js'

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
  /** How long the key is held back, in milliseconds. */
  readonly lockMs: number
}

/**
 * Counts one failed sign-in. Failures older than the window, or from before a lock that is over, do not count.
 * @returns whether this one was the one too many
 */
export async function countFailure(queries: Queries, key: string, limit: FailureLimit, now: number): Promise<boolean> {
  const row = await queries.selectFrom('sign_in_failure').selectAll().where('key', '=', key).executeTakeFirst()
  const isOver = row && (row.locked_until === null ? row.first_at <= now - limit.windowMs : row.locked_until <= now)
  const continues = row !== undefined && !isOver
  const failures = continues ? row.failures + 1 : 1
  const first_at = continues ? row.first_at : now
  const locked_until = failures >= limit.failures ? now + limit.lockMs : null
  await queries
    .insertInto('sign_in_failure')
    .values({ key, failures, first_at, locked_until })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ failures, first_at, locked_until }))
    .execute()
  return failures === limit.failures
}

export async function forgetFailures(queries: Queries, key: string): Promise<void> {
  await queries.deleteFrom('sign_in_failure').where('key', '=', key).execute()
}

/** Removes counts that no longer mean anything. @returns how many there were */
export async function deleteOldFailures(queries: Queries, windowMs: number, now: number): Promise<number> {
  const result = await queries
    .deleteFrom('sign_in_failure')
    .where('first_at', '<=', now - windowMs)
    .where((where) => where.or([where('locked_until', 'is', null), where('locked_until', '<=', now)]))
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
