import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Which roles may give the approvals that jobs wait for. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('awaited_approval')
    .addColumn('role', 'text', (column) => column.notNull())
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('allow_self', 'integer', (column) => column.notNull())
    .addColumn('user_name', 'text', (column) => column.notNull())
    .addColumn('user_type', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('awaited_approval_key', ['role', 'job_id'])
    .execute()
  await database.schema.createIndex('awaited_approval_job').on('awaited_approval').column('job_id').execute()
}
