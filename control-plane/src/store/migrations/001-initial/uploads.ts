import type { Kysely } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** Files that users upload. */
export async function createUploads(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('upload'), types)
    .addColumn('stored_name', 'text', (column) => column.notNull().unique())
    .addColumn('owner_id', types.big)
    .addColumn('owner_name', 'text', required)
    .addColumn('owner_type', 'text', required)
    .addColumn('size', types.big, required)
    .addColumn('sha256', 'text', required)
    .addColumn('original_name', 'text', required)
    .addColumn('mime_type', 'text', required)
    .addColumn('encoding', 'text', required)
    .addColumn('created_at', types.big, required)
    .addColumn('used', 'integer', required)
    .execute()
  await database.schema.createIndex('upload_age').on('upload').column('created_at').execute()
  // The index has both columns, so the sizes of one user and of all users are added up from the index alone.
  await database.schema.createIndex('upload_owner_size').on('upload').columns(['owner_id', 'size']).execute()

  await withId(database.schema.createTable('upload_claim'), types)
    .addColumn('owner_id', types.big, required)
    .addColumn('bytes', types.big, required)
    .addColumn('written', types.big, required)
    .addColumn('touched_at', types.big, required)
    .execute()
}
