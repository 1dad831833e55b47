import type pg from 'pg'

/** How often old marks are removed, in milliseconds. No node needs them any more. */
const SWEEP_EVERY_MS = 60_000

/**
 * The marks that transactions leave (postgres-transactions.ts). A mark is needed as long as a node may ask for it. Old
 * marks are removed by the writes that make new ones. A node that writes nothing has nothing to remove.
 */
export function createWriteMarks(pool: pg.Pool, now: () => number) {
  let count = 0
  let sweptAt = now()
  let sweeping: Promise<unknown> = Promise.resolve()
  return {
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
