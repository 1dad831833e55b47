import { CompiledQuery, type QueryResult } from 'kysely'
import { dialectOf } from './dialect.js'
import type { Queries } from '../store.js'

/**
 * The statements with the numbered parameters of PostgreSQL, by the statement with question marks. There are few of
 * them.
 */
const numbered = new Map<string, string>()

/**
 * Runs a frequent statement that is written by hand, because building it each time would cost more than running it. It
 * has a question mark for each parameter, and no other question mark.
 */
export function runStatement<Row>(
  queries: Queries,
  text: string,
  parameters: readonly unknown[],
): Promise<QueryResult<Row>> {
  const statement = dialectOf(queries) === 'postgres' ? withNumbers(text) : text
  return queries.executeQuery<Row>(CompiledQuery.raw(statement, [...parameters]))
}

function withNumbers(text: string): string {
  const known = numbered.get(text)
  if (known !== undefined) return known
  let count = 0
  const made = text.replace(/\?/g, () => `$${(count += 1)}`)
  numbered.set(text, made)
  return made
}
