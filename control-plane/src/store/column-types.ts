import { type Kysely, type RawBuilder, sql } from 'kysely'

type ColumnTypeName = 'integer' | 'bigint' | 'text' | RawBuilder<unknown>

/** The few column types that SQLite and PostgreSQL call by different names. */
export interface ColumnTypes {
  readonly id: ColumnTypeName
  readonly autoIncrement: boolean
  /** A whole number up to 2^53: times, byte counts, ids. */
  readonly big: ColumnTypeName
  readonly real: RawBuilder<unknown>
  readonly bytes: RawBuilder<unknown>
}

const SQLITE: ColumnTypes = { id: 'integer', autoIncrement: true, big: 'integer', real: sql`real`, bytes: sql`blob` }

/** The column types of the database that `database` talks to. */
export function columnTypesOf(_database: Kysely<unknown>): ColumnTypes {
  return SQLITE
}
