import type { Kysely } from 'kysely'
import { type ColumnTypes, required } from '../../sql/column-types.js'

/** What jobs write, and what is known about it. */
export async function createJobStreams(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createJobStreamTable(database, types)
  await createJobOutputBlockTable(database, types)
  await createJobOutputMarkTable(database, types)
  await createJobOutputTable(database, types)
  await createJobEventTable(database, types)
}

async function createJobStreamTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_stream')
    .addColumn('job_id', types.big, (column) => column.primaryKey().references('job.id').onDelete('cascade'))
    .addColumn('output_length', types.big, required)
    .addColumn('shown_length', types.big, required)
    .addColumn('events_length', types.big, required)
    .addColumn('events_count', types.big, required)
    .addColumn('output_full', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('events_full', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('generation', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('shown_lines', types.big)
    .addColumn('integrity', 'text')
    .addColumn('output_sha256', 'text')
    .addColumn('events_sha256', 'text')
    .addColumn('verified_at', types.big)
    .execute()
}

async function createJobOutputBlockTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_output_block')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('block', types.big, required)
    .addColumn('lines', types.big, required)
    .addPrimaryKeyConstraint('job_output_block_key', ['job_id', 'block'])
    .execute()
}

async function createJobOutputMarkTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_output_mark')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('at', types.big, required)
    .addColumn('event', types.big, required)
    .addColumn('shown', types.big, required)
    .addColumn('line', types.big)
    .addColumn('mark', types.bytes, required)
    .addPrimaryKeyConstraint('job_output_mark_key', ['job_id', 'at'])
    .execute()
  await database.schema
    .createIndex('job_output_mark_event')
    .on('job_output_mark')
    .columns(['job_id', 'event'])
    .execute()
}

async function createJobOutputTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_output')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('position', types.big, required)
    .addColumn('origin', 'text', required)
    .addColumn('data', types.bytes, required)
    .addPrimaryKeyConstraint('job_output_key', ['job_id', 'position'])
    .execute()
}

async function createJobEventTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('job_event')
    .addColumn('job_id', types.big, (column) => column.notNull().references('job.id').onDelete('cascade'))
    .addColumn('position', types.big, required)
    .addColumn('type', 'text', required)
    .addColumn('play', 'text')
    .addColumn('task', 'text')
    .addColumn('host', 'text')
    .addColumn('duration', types.real)
    .addColumn('time', 'text', required)
    .addColumn('line', types.bytes, required)
    .addPrimaryKeyConstraint('job_event_key', ['job_id', 'position'])
    .execute()
}
