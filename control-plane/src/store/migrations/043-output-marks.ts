import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * The marks in the output of runners. They tell which event each piece of output belongs to. The folder `schema` explains the
 * columns.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('job_output_mark')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('at', types.big, (column) => column.notNull())
    .addColumn('event', types.big, (column) => column.notNull())
    .addColumn('shown', types.big, (column) => column.notNull())
    .addColumn('line', types.big)
    .addColumn('mark', types.bytes, (column) => column.notNull())
    .addPrimaryKeyConstraint('job_output_mark_key', ['job_id', 'at'])
    .execute()
  await database.schema
    .createIndex('job_output_mark_event')
    .on('job_output_mark')
    .columns(['job_id', 'event'])
    .execute()
}
