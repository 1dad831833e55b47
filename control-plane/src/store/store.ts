import type { Kysely } from 'kysely'
import type { Database } from './schema.js'

/**
 * Queries over the tables. Functions of `store/` take one. It makes no difference to them whether it only reads or is
 * inside a write.
 */
export type Queries = Kysely<Database>

/**
 * The database as it was opened. Its writes have no record in the audit trail. Only the parts that work for all requests
 * get it: the trail itself, the nodes, the service clock. Reads see only committed data. Writes are functions. Those that wait at the same time are committed
 * together (group commit), each one completely or not at all.
 */
export interface RawStore {
  readonly read: Queries
  /**
   * Runs `operation` inside a write transaction and resolves after the durable commit. The operation may run more than
   * once: when another write of its group fails, or after a conflict with the writes of another node. So it must do
   * only queries. The rows that it reads do not change until its commit, so it may decide from them.
   * @param name for the log and for errors, such as `jobs.create`
   * @throws UnavailableError when the database stays locked or cannot be written; every error of the operation, after a
   * rollback
   */
  write<T>(name: string, operation: (queries: Queries) => Promise<T>): Promise<T>
  /**
   * @throws UnavailableError `database_unreachable` when it cannot be read, `schema_not_provisioned` and
   * `schema_not_upgraded` when its tables are not those of this release, `database_not_writable` when the latest
   * write failed
   */
  check(): Promise<void>
  /** The clock of the database's own host, in milliseconds since the epoch; null: it is the clock of this host. */
  databaseTime(): Promise<number | null>
  /**
   * Looks for the latest writes of this process. It fails when the database does not answer.
   */
  lookBack(): Promise<LookBack>
  /**
   * For a process that is about to end. From now on no write waits longer than this for a locked or missing database,
   * in milliseconds.
   */
  limitWaits(ms: number): void
  close(): Promise<void>
}

/**
 * Whether the latest writes of a process are still in the database. `lost`: they were committed and are not there any
 * more, so the database went back to an earlier state. `unknown`: this cannot be told now.
 */
export type LookBack = 'kept' | 'lost' | 'unknown'

declare const audited: unique symbol

/**
 * The database as the rooms get it: the first write of a request also stores the record of the request in the audit
 * trail. Only the trail makes one (`audit/trail.ts`), so no room can be given the raw one by mistake.
 */
export interface Store extends RawStore {
  readonly [audited]: true
}
