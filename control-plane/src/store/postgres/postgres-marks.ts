import type pg from 'pg'

/** How often marks are removed that nobody can ask for any more, in milliseconds. */
const SWEEP_EVERY_MS = 60_000

/** The marks that transactions leave (postgres-transactions.ts). They are of use for as long as somebody may ask for them. */
export interface WriteMarks {
  /** A mark that no transaction had before. */
  next(node: string): string
  /** Resolves when no sweep is under way. */
  written(): Promise<void>
}

/** Old marks go with the writes that make new ones: a node that writes nothing has nothing to remove. */
export function createWriteMarks(pool: pg.Pool, now: () => number): WriteMarks {
  let count = 0
  let sweptAt = now()
  let sweeping: Promise<unknown> = Promise.resolve()
  return {
    next(node) {
      count += 1
      if (now() - sweptAt > SWEEP_EVERY_MS) {
        sweptAt = now()
        // What is left over goes with the next sweep.
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
