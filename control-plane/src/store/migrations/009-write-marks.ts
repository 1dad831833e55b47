import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../sql/dialect.js'

/** What each transaction leaves behind, so that a lost answer to its commit can be made up for. SQLite answers always. */
export async function up(database: Kysely<unknown>): Promise<void> {
  if (dialectOf(database) !== 'postgres') return
  await database.schema
    .createTable('write_mark')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('made_at', sql`timestamptz`, (column) => column.notNull().defaultTo(sql`now()`))
    .execute()
}
