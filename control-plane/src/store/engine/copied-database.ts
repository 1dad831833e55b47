/** A row as it is stored: numbers, texts, bytes, null. */
export type CopiedRow = Readonly<Record<string, number | string | Buffer | null>>

/** One state of a database to copy from, whatever is written meanwhile. */
export interface DatabaseSnapshot {
  /** The steps that made its tables. */
  readonly steps: readonly string[]
  /** Its tables. One that refers to others stands behind them. */
  readonly tables: readonly string[]
  /** The highest number that was given, by the table that gives numbers. */
  readonly sequences: Readonly<Record<string, number>>
  /** The rows of a table, some at a time. */
  rows(table: string): AsyncIterable<readonly CopiedRow[]>
  close(): Promise<void>
}

/** A database that is filled from a copy. Nothing of it is seen by others before `finish`. */
export interface DatabaseFilling {
  insert(table: string, rows: readonly CopiedRow[]): Promise<void>
  /** The rows of a table as they are stored now. */
  rows(table: string): AsyncIterable<readonly CopiedRow[]>
  /** Numbers are given from here on. Brings the tables up to date, and makes all of it the database. */
  finish(sequences: Readonly<Record<string, number>>): Promise<void>
  /** Gives up: nothing of it stays. */
  abandon(): Promise<void>
}

const ROWS_AT_ONCE = 500
/** Rows of tables with long pieces of bytes, so that few are held at once. */
const LONG_ROWS_AT_ONCE = 16
const LONG_TABLES: readonly string[] = ['job_output', 'job_event']

/** Most rows of a table that are read by one statement. */
export function rowsAtOnce(table: string): number {
  return LONG_TABLES.includes(table) ? LONG_ROWS_AT_ONCE : ROWS_AT_ONCE
}

/**
 * Puts tables behind those that they refer to.
 * @param referredBy the tables that a table refers to
 */
export function inOrder(tables: readonly string[], referredBy: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const ordered: string[] = []
  const visit = (table: string, above: readonly string[]): void => {
    if (ordered.includes(table) || above.includes(table)) return
    for (const other of referredBy.get(table) ?? []) visit(other, [...above, table])
    ordered.push(table)
  }
  for (const table of tables.toSorted()) visit(table, [])
  return ordered
}

/** A name inside of a statement. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** Tables of the migrations themselves. */
export const isOwnTable = (name: string): boolean => !name.startsWith('kysely_') && !name.startsWith('sqlite_')
