import type { Kysely } from 'kysely'
import type { Database } from './schema.js'

/** Queries over the tables. Functions of `store/` take one and do not care whether it reads or is inside a write. */
export type Queries = Kysely<Database>

/**
 * The database. Reads see what is committed. Writes are given as functions: several that wait at the same time are
 * committed together (group commit), each one whole or not at all.
 */
export interface Store {
  readonly read: Queries
  /**
   * Runs `operation` inside a write transaction and resolves after the durable commit. The operation may be run more
   * than once (when a neighbour in its group fails it is run again alone, and when another node's writes were in the way),
   * so it must do nothing but queries. What it reads stays true until it is committed: it may decide by that.
   * @param name for the log and for errors, such as `jobs.create`
   * @throws UnavailableError when the database stays locked or cannot be written; whatever the operation throws, rolled back
   */
  write<T>(name: string, operation: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * @throws UnavailableError `database_unreachable` when it cannot be read, `schema_not_provisioned` and
   * `schema_not_upgraded` when its tables are not those of this release, `database_not_writable` when the latest
   * write failed
   */
  check(): Promise<void>
  /** For a process that is about to end: no write waits longer than this many milliseconds for a database that is locked or away. */
  limitWaits(ms: number): void
  close(): Promise<void>
}
