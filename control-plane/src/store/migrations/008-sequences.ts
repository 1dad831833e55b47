import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Parent jobs, and the state of their steps and workflow nodes. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('job_sequence')
    .addColumn('job_id', types.big, (column) => column.primaryKey().references('job.id').onDelete('cascade'))
    .addColumn('version', 'integer', (column) => column.notNull())
    .addColumn('plan', 'text', (column) => column.notNull())
    .execute()
  await database.schema
    .createTable('sequence_node')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job_sequence.job_id').onDelete('cascade'))
    .addColumn('position', 'integer', (column) => column.notNull())
    .addColumn('identifier', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('subjob_id', types.big, (column) => column.references('job.id').onDelete('set null'))
    .addColumn('start_time', types.big)
    .addColumn('end_time', types.big)
    .addColumn('reason', 'text')
    .addColumn('approval', 'text')
    .addColumn('due_time', types.big)
    .addColumn('artifacts', 'text')
    .addPrimaryKeyConstraint('sequence_node_key', ['job_id', 'position'])
    .addUniqueConstraint('sequence_node_identifier', ['job_id', 'identifier'])
    .execute()
  await database.schema.createIndex('sequence_node_subjob').on('sequence_node').column('subjob_id').execute()
  await database.schema.createIndex('sequence_node_due').on('sequence_node').column('due_time').execute()
}
