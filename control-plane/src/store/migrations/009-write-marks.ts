import { type Kysely, sql } from 'kysely'
import { dialectOf } from '../sql/dialect.js'

/**
 * The mark that each transaction leaves, so that the control plane can find out about a commit whose answer was lost.
 * SQLite needs no marks, because it always answers.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  if (dialectOf(database) !== 'postgres') return
  await database.schema
    .createTable('write_mark')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('made_at', sql`timestamptz`, (column) => column.notNull().defaultTo(sql`now()`))
    .execute()
}
