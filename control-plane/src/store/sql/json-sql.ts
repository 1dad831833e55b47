import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely'
import { dialectOf } from './dialect.js'
import type { Database } from '../schema.js'
import type { Queries } from '../store.js'

/**
 * Rows of a query as objects, for long lists. The database makes one text of all rows. In the drivers, a separate value
 * for every column of every row costs several times as much. The rows have no order, so the caller sorts them.
 * @returns the parsed text, which a schema has to check
 */
export async function selectAsJson<Row extends object>(
  queries: Queries,
  query: SelectQueryBuilder<Database, keyof Database, Row>,
  columns: readonly (keyof Row & string)[],
): Promise<unknown> {
  if (dialectOf(queries) === 'postgres') return selectAsArrays(queries, query, columns)
  const members = columns.flatMap((column) => [sql.lit(column), sql.ref(column)])
  return readText(queries, query, sql<string>`json_group_array(json_object(${sql.join(members)}))`)
}

/** PostgreSQL needs twice as much time for objects as for arrays. So it makes arrays, and the names are added here. */
async function selectAsArrays<Row extends object>(
  queries: Queries,
  query: SelectQueryBuilder<Database, keyof Database, Row>,
  columns: readonly (keyof Row & string)[],
): Promise<unknown> {
  const values = sql.join(columns.map((column) => sql.ref(column)))
  const rows = await readText(queries, query, sql<string>`coalesce(json_agg(json_build_array(${values})), '[]')::text`)
  return (rows as unknown[][]).map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])))
}

async function readText<Row extends object>(
  queries: Queries,
  query: SelectQueryBuilder<Database, keyof Database, Row>,
  list: RawBuilder<string>,
): Promise<unknown> {
  const { rows } = await queries.selectFrom(query.as('part')).select(list.as('rows')).executeTakeFirstOrThrow()
  return JSON.parse(rows)
}

/**
 * The right side of `in` for any number of texts, as one parameter. So one statement works for all numbers.
 * @param values texts without NUL, because SQLite ends a text in JSON at NUL
 */
export function textsOf(queries: Queries, values: readonly string[]) {
  return dialectOf(queries) === 'postgres'
    ? sql<string>`(select unnest(${values}::text[]))`
    : sql<string>`(select value from json_each(${JSON.stringify(values)}))`
}
