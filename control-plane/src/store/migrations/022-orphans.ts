import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Jobs that a runner has and this database does not know, and deleted runs. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('job').addColumn('adopted_at', types.big).execute()
  await database.schema
    .createTable('orphan')
    .addColumn('runner_id', types.big, (column) => column.notNull().references('runner.id').onDelete('cascade'))
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('job_number', types.big, (column) => column.notNull())
    .addColumn('reason', 'text', (column) => column.notNull())
    .addColumn('service', 'text')
    .addColumn('ended', 'integer', (column) => column.notNull())
    .addColumn('output_bytes', types.big, (column) => column.notNull())
    .addColumn('events_bytes', types.big, (column) => column.notNull())
    .addColumn('form', 'text')
    .addColumn('user_name', 'text')
    .addColumn('user_type', 'text')
    .addColumn('claimed_at', types.big)
    .addColumn('reported_at', types.big, (column) => column.notNull())
    .addColumn('decision', 'text')
    .addColumn('decided_by', 'text')
    .addPrimaryKeyConstraint('orphan_key', ['runner_id', 'run_id'])
    .execute()
  await database.schema
    .createTable('past_run')
    .addColumn('run_id', 'text', (column) => column.primaryKey())
    .addColumn('how', 'text', (column) => column.notNull())
    .addColumn('deleted_at', types.big, (column) => column.notNull())
    .execute()
  await database.schema.createIndex('past_run_deleted').on('past_run').column('deleted_at').execute()
}
