import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** What uploads under way will take of quotas and disk. What each column means stands in schema.ts. */
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
  // Both columns: what a user has, and what all have, is added up from the index alone.
  await database.schema.createIndex('upload_owner_size').on('upload').columns(['owner_id', 'size']).execute()
}
