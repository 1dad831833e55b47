import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Files that users uploaded, and the jobs that refer to them. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('upload')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('stored_name', 'text', (column) => column.notNull().unique())
    .addColumn('owner_name', 'text', (column) => column.notNull())
    .addColumn('owner_type', 'text', (column) => column.notNull())
    .addColumn('size', types.big, (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    .addColumn('original_name', 'text', (column) => column.notNull())
    .addColumn('mime_type', 'text', (column) => column.notNull())
    .addColumn('encoding', 'text', (column) => column.notNull())
    .addColumn('created_at', types.big, (column) => column.notNull())
    .addColumn('used', 'integer', (column) => column.notNull())
    .execute()
  await database.schema.createIndex('upload_age').on('upload').column('created_at').execute()
  await database.schema
    .createTable('job_file')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('field', 'text', (column) => column.notNull())
    .addColumn('upload_id', types.big, (column) => column.notNull().references('upload.id'))
    .addPrimaryKeyConstraint('job_file_key', ['job_id', 'field'])
    .execute()
  await database.schema.createIndex('job_file_upload').on('job_file').column('upload_id').execute()
}
