import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Credentials with encrypted secrets. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('credential')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('user_name', 'text')
    .addColumn('host', 'text')
    .addColumn('port', 'integer')
    .addColumn('description', 'text', (column) => column.notNull())
    .addColumn('secret', types.bytes, (column) => column.notNull())
    .addColumn('created_at', types.big, (column) => column.notNull())
    .addColumn('updated_at', types.big, (column) => column.notNull())
    .execute()
}
