import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Static } from 'typebox'
import type { CopiedRow } from '../store/engine/copied-database.js'
import { BackupError } from './backup-error.js'

/** Parts of an installation beside its database. */
export const PARTS = ['forms', 'workflows', 'playbooks', 'config', 'secrets', 'uploads'] as const
/** One of {@link PARTS}. */
export type Part = (typeof PARTS)[number]

const count = Type.Integer({ minimum: 0 })
const names = Type.Array(Type.String())

const Head = Type.Object({
  type: Type.Literal('head'),
  version: Type.String(),
  time: Type.Integer(),
  database: Type.Enum(['sqlite', 'postgres']),
  steps: names,
  tables: names,
  sequences: Type.Record(Type.String(), count),
  parts: Type.Array(Type.Enum([...PARTS])),
})
const Rows = Type.Object({
  type: Type.Literal('rows'),
  table: Type.String(),
  columns: names,
  rows: Type.Array(Type.Array(Type.Unknown())),
})
const TableEnd = Type.Object({ type: Type.Literal('table'), table: Type.String(), rows: count, digest: Type.String() })
const File = Type.Object({
  type: Type.Literal('file'),
  part: Type.Enum([...PARTS]),
  path: Type.String(),
  mode: count,
  size: count,
})
const Data = Type.Object({ type: Type.Literal('data'), data: Type.String() })
const End = Type.Object({ type: Type.Literal('end'), tables: count, rows: count, files: count })

const AnyRecord = Type.Union([Head, Rows, TableEnd, File, Data, End])
/** A line of a backup. The order: the head, the rows and the end of each table, each file with its bytes, the end. */
export type BackupRecord = Static<typeof AnyRecord>
/** The first line of a backup. */
export type BackupHead = Static<typeof Head>

const check = Compile(AnyRecord)

/** Reads a line of a backup. @throws BackupError `damaged` */
export function readRecord(line: string): BackupRecord {
  try {
    const value: unknown = JSON.parse(line)
    if (check.Check(value)) return value
  } catch {
    // The error below says so.
  }
  throw new BackupError('damaged', 'The backup is damaged: a line of it cannot be read')
}

/** Makes the line for some rows. A row is the list of its values, in the order of `columns`. Bytes are `{"$": base64}`. */
export function rowsRecord(table: string, rows: readonly CopiedRow[]): BackupRecord {
  const columns = Object.keys(rows[0] ?? {}).toSorted()
  return {
    type: 'rows',
    table,
    columns,
    rows: rows.map((row) =>
      columns.map((column) => {
        const value = row[column] ?? null
        return value instanceof Uint8Array ? { $: Buffer.from(value).toString('base64') } : value
      }),
    ),
  }
}

/** The rows of a line, as the database has them. @throws BackupError `damaged` */
export function rowsIn({ columns, rows }: Static<typeof Rows>): CopiedRow[] {
  return rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, valueOf(row[index])] as const)))
}

function valueOf(value: unknown): number | string | Buffer | null {
  if (value === null || typeof value === 'string' || typeof value === 'number') return value
  if (typeof value === 'object' && value !== undefined && '$' in value && typeof value.$ === 'string') {
    return Buffer.from(value.$, 'base64')
  }
  throw new BackupError('damaged', 'The backup is damaged: a value of it cannot be read')
}
