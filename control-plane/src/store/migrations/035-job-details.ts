import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * More facts about the streams of a job, and the number of lines in each block of its output. The folder `schema` explains the
 * columns. The lines of older jobs are not counted here, because all of their output would have to be read. They are
 * counted when somebody asks.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .alterTable('job_stream')
    .addColumn('generation', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await database.schema.alterTable('job_stream').addColumn('shown_lines', types.big).execute()
  await database.schema.alterTable('job_stream').addColumn('integrity', 'text').execute()
  await database.schema.alterTable('job_stream').addColumn('output_sha256', 'text').execute()
  await database.schema.alterTable('job_stream').addColumn('events_sha256', 'text').execute()
  await database.schema.alterTable('job_stream').addColumn('verified_at', types.big).execute()
  await database.schema
    .createTable('job_output_block')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('block', types.big, (column) => column.notNull())
    .addColumn('lines', types.big, (column) => column.notNull())
    .addPrimaryKeyConstraint('job_output_block_key', ['job_id', 'block'])
    .execute()
  await database.schema.createIndex('job_form').on('job').columns(['form', 'id']).execute()
}
