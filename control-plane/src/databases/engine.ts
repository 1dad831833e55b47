import type { DatabaseQuery } from './query-type.js'

/** Where a database is, and who asks it. */
export interface Target {
  readonly host: string
  readonly port: number | null
  readonly database: string | null
  readonly user: string | null
  readonly password: string
  /** Null: without. */
  readonly tls: DatabaseTls | null
}

/** How a connection with TLS is made. The certificate of the server is always checked. */
export interface DatabaseTls {
  /** The certificates (PEM) that are trusted; null: those of the system. */
  readonly ca: string | null
  /** The certificate (PEM) that logs in instead of a password, and its private key. */
  readonly own?: { readonly cert: string; readonly key: string }
}

/** The same in the words of Node. */
export function tlsOptions({ ca, own }: DatabaseTls): {
  rejectUnauthorized: true
  ca?: string
  cert?: string
  key?: string
} {
  return { rejectUnauthorized: true, ...(ca === null ? {} : { ca }), ...own }
}

/** What one answer may cost. Times are in milliseconds. */
export interface AskLimits {
  readonly connectMs: number
  readonly statementMs: number
  readonly rows: number
  /** Bytes of all rows as JSON, about. */
  readonly bytes: number
  /** Connections to one database. */
  readonly connections: number
  readonly idleMs: number
}

/** Takes the rows of an answer as they come. */
export interface RowTaker {
  /** @returns false when there is no room for more rows */
  take(row: Record<string, unknown>): boolean
}

/** The connections to one database. */
export interface Engine {
  /**
   * Fills the text of the form and asks, in a transaction that can only read where the server has such. Nothing is
   * connected before the text is filled. A question that is aborted, or has more rows than the taker takes, costs its
   * connection.
   * @throws DatabaseProblem when the text cannot be filled; else what the driver throws
   */
  ask(query: Pick<DatabaseQuery, 'text' | 'value' | 'signal'>, rows: RowTaker): Promise<void>
  close(): Promise<void>
}
