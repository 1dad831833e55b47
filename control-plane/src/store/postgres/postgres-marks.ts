import type pg from 'pg'

/** How often old marks are removed, in milliseconds. No node needs them any more. */
const SWEEP_EVERY_MS = 60_000

/** The marks that transactions leave (postgres-transactions.ts). A mark is needed as long as a node may ask for it. */
export interface WriteMarks {
  /** A mark that no transaction had before. */
  next(node: string): string
  /** Resolves when no sweep is running. */
  written(): Promise<void>
}

/** Old marks are removed by the writes that make new ones. A node that writes nothing has nothing to remove. */
export function createWriteMarks(pool: pg.Pool, now: () => number): WriteMarks {
  let count = 0
  let sweptAt = now()
  let sweeping: Promise<unknown> = Promise.resolve()
  return {
    next(node) {
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
    async written() {
      await sweeping
    },
  }
}
