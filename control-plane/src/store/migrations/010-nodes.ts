import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Several control planes on one database. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('node')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('version', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('started_at', types.big, (column) => column.notNull())
    .addColumn('last_seen', types.big, (column) => column.notNull())
    .execute()
  for (const column of ['connected_node', 'clone_host', 'clone_ip']) {
    await database.schema.alterTable('runner').addColumn(column, 'text').execute()
  }
}
