import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Where each job was, and since when. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('job_stage')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('since', types.big, (column) => column.notNull())
    .addColumn('until', types.big)
    .execute()
  await database.schema.createIndex('job_stage_job').on('job_stage').columns(['job_id', 'state']).execute()
}
