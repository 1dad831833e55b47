import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from './schema.js'
import type { Queries } from './store.js'

/**
 * Rows of a query as objects, for long lists. The database makes one text of all rows: with the SQLite driver a value
 * that comes over by itself costs several times what writing and parsing it in that text does. Whoever needs the rows in
 * an order sorts them.
 * @returns what the text says; to be checked by a schema
 */
export async function selectAsJson<Row extends object>(
  queries: Queries,
  query: SelectQueryBuilder<Database, keyof Database, Row>,
  columns: readonly (keyof Row & string)[],
): Promise<unknown> {
  const members = columns.flatMap((column) => [sql.lit(column), sql.ref(column)])
  const list = sql<string>`json_group_array(json_object(${sql.join(members)}))`
  const { rows } = await queries.selectFrom(query.as('part')).select(list.as('rows')).executeTakeFirstOrThrow()
  return JSON.parse(rows)
}

/** The right side of `in` for any number of texts, as one parameter: one statement serves them all. */
export function textsOf(values: readonly string[]) {
  return sql<string>`(select value from json_each(${JSON.stringify(values)}))`
}
