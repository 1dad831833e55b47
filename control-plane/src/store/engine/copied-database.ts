/** A row as it is stored: numbers, texts, bytes, null. */
export type CopiedRow = Readonly<Record<string, number | string | Buffer | null>>

/** One state of a database, from which a copy is made. Writes that happen meanwhile do not change it. */
export interface DatabaseSnapshot {
  /** The migrations that made its tables. */
  readonly steps: readonly string[]
  /** Its tables. A table comes after the tables that it refers to. */
  readonly tables: readonly string[]
  /** The highest number that each table has given, for tables that give numbers. */
  readonly sequences: Readonly<Record<string, number>>
  /** The rows of a table, some at a time. */
  rows(table: string): AsyncIterable<readonly CopiedRow[]>
  close(): Promise<void>
}

/** A database that is filled from a copy. Others see nothing of it before `finish`. */
export interface DatabaseFilling {
  insert(table: string, rows: readonly CopiedRow[]): Promise<void>
  /** The rows of a table as they are stored now. */
  rows(table: string): AsyncIterable<readonly CopiedRow[]>
  /**
   * Sets the numbers from which the tables go on. Brings the tables up to date, and puts the new database in its place.
   */
  finish(sequences: Readonly<Record<string, number>>): Promise<void>
  /** Gives up and removes everything. */
  abandon(): Promise<void>
}

const ROWS_AT_ONCE = 500
/**
 * Rows that are read at once from tables with long pieces of bytes. There are few of them, because they are in memory.
 */
const LONG_ROWS_AT_ONCE = 16
const LONG_TABLES: readonly string[] = ['job_output', 'job_event']

/** Most rows of a table that are read by one statement. */
export function rowsAtOnce(table: string): number {
  return LONG_TABLES.includes(table) ? LONG_ROWS_AT_ONCE : ROWS_AT_ONCE
}

/**
 * Sorts tables so that each comes after those that it refers to.
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
