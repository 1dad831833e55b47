import type { Kysely } from 'kysely'
import { type ColumnTypes, required } from '../../sql/column-types.js'

/** Parent jobs, and the state of their steps and workflow nodes. */
export async function createSequences(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_sequence')
    .addColumn('job_id', types.big, (column) => column.primaryKey().references('job.id').onDelete('cascade'))
    .addColumn('version', 'integer', required)
    .addColumn('plan', 'text', required)
    .execute()

  await database.schema
    .createTable('sequence_node')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job_sequence.job_id').onDelete('cascade'))
    .addColumn('position', 'integer', required)
    .addColumn('identifier', 'text', required)
    .addColumn('status', 'text', required)
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
  await database.schema.createIndex('sequence_node_due').on('sequence_node').column('due_time').execute()
  await database.schema.createIndex('sequence_node_subjob').on('sequence_node').column('subjob_id').execute()
}
