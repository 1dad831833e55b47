import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The addresses of runners that the control plane dials. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('runner_address')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('address', 'text', (column) => column.notNull().unique())
    .addColumn('fingerprint', 'text')
    .addColumn('created_at', types.big, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('node', 'text')
    .addColumn('problem', 'text')
    .execute()
}
