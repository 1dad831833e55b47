import { type Kysely, sql } from 'kysely'
import { required } from '../../sql/column-types.js'
import { dialectOf } from '../../sql/dialect.js'

/**
 * The mark that each transaction leaves, so that the control plane can find out about a commit whose answer was lost.
 * SQLite needs no marks, because it always answers.
 */
export async function createWriteMarks(database: Kysely<unknown>): Promise<void> {
  if (dialectOf(database) !== 'postgres') return
  await database.schema
    .createTable('write_mark')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('state', 'text', required)
    .addColumn('made_at', sql`timestamptz`, (column) => column.notNull().defaultTo(sql`now()`))
    .execute()
}
