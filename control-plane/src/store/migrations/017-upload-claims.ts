import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The space of quotas and disk that unfinished uploads will use. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('upload_claim')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('owner_id', types.big, (column) => column.notNull())
    .addColumn('bytes', types.big, (column) => column.notNull())
    .addColumn('written', types.big, (column) => column.notNull())
    .addColumn('touched_at', types.big, (column) => column.notNull())
    .execute()
  // The index has both columns, so the sizes of one user and of all users are added up from the index alone.
  await database.schema.createIndex('upload_owner_size').on('upload').columns(['owner_id', 'size']).execute()
}
