import type { ColumnType } from 'kysely'

/** A column that is written once, at insert. */
export type Fixed<T> = ColumnType<T, T, never>
