import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The keys with which the control plane proves to runners who it is. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('service_key')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('public_key', 'text', (column) => column.notNull().unique())
    .addColumn('private_key', types.bytes)
    .addColumn('signature', 'text')
    .addColumn('created_at', types.big, (column) => column.notNull())
    .execute()
}
