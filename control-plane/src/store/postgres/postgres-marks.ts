import type pg from 'pg'
import type { LookBack } from '../store.js'

/** How often old marks are removed, in milliseconds. No node needs them any more. */
const SWEEP_EVERY_MS = 60_000
/** Marks of commits that are closer together than this count as one, in milliseconds. The latest one is looked for. */
const CLOSE_MS = 100
/** Most marks that are looked for. */
const MAX_MARKS = 150
/** Younger marks are surely not removed as old ones, in milliseconds. */
const SURE_MS = 8 * 60_000

/** The mark of a commit, and when it was answered, by a clock that does not jump. */
interface Committed {
  readonly mark: string
  readonly at: number
}

/**
 * The marks that transactions leave (postgres-transactions.ts). A mark is needed as long as a node may ask for it. Old
 * marks are removed by the writes that make new ones. A node that writes nothing has nothing to remove.
 */
export function createWriteMarks(pool: pg.Pool, now: () => number) {
  let count = 0
  let sweptAt = now()
  let sweeping: Promise<unknown> = Promise.resolve()
  let committed: Committed[] = []
  return {
    /** The transaction with this mark is committed. */
    noteCommitted(mark: string): void {
      const last = committed.at(-1)
      if (last !== undefined && now() - last.at < CLOSE_MS) committed.pop()
      committed.push({ mark, at: now() })
      if (committed.length > MAX_MARKS) committed.shift()
    },
    /**
     * Looks for the marks of the latest commits. A server that has lost its last commits, such as a standby that took
     * over, does not have them. A standby says nothing about the marks: it may be behind.
     */
    async lookBack(): Promise<LookBack> {
      const sought = committed.filter(({ at }) => now() - at < SURE_MS).map(({ mark }) => mark)
      if (sought.length === 0) return 'unknown'
      const { rows } = await pool.query<{ is_standby: boolean; found: string }>(
        `select pg_is_in_recovery() as is_standby, count(*)::text as found from write_mark
         where id = any($1) and state = 'committed'`,
        [sought],
      )
      if (rows[0] === undefined || rows[0].is_standby) return 'unknown'
      if (Number(rows[0].found) === sought.length) return 'kept'
      committed = []
      return 'lost'
    },
    /** A mark that no transaction had before. */
    next(node: string): string {
      count += 1
      if (now() - sweptAt > SWEEP_EVERY_MS) {
        sweptAt = now()
        // The next sweep removes the rest.
        sweeping = pool
          .query(`delete from write_mark where made_at < now() - interval '10 minutes'`)
          .catch(() => undefined)
      }
      return `${node}-${count}`
    },
    /** Resolves when no sweep is running. */
    async written(): Promise<void> {
      await sweeping
    },
  }
}
