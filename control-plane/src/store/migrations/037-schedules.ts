import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Launches at given times, and in each job the schedule that started it. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('schedule')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('form', 'text', (column) => column.notNull())
    .addColumn('cron', 'text')
    .addColumn('time_zone', 'text', (column) => column.notNull())
    .addColumn('once_at', types.big)
    .addColumn('missed', 'text', (column) => column.notNull())
    .addColumn('paused', 'integer', (column) => column.notNull())
    .addColumn('user_id', types.big, (column) => column.notNull())
    .addColumn('user_name', 'text', (column) => column.notNull())
    .addColumn('user_type', 'text', (column) => column.notNull())
    .addColumn('form_values', 'text', (column) => column.notNull())
    .addColumn('credentials', 'text', (column) => column.notNull())
    .addColumn('verbose', 'integer', (column) => column.notNull())
    .addColumn('turn', types.big, (column) => column.notNull())
    .addColumn('next_at', types.big)
    .addColumn('last_at', types.big)
    .addColumn('last_job_id', types.big)
    .addColumn('last_problem', 'text')
    .addColumn('created_at', types.big, (column) => column.notNull())
    .execute()
  await database.schema.createIndex('schedule_next').on('schedule').column('next_at').execute()
  await database.schema.alterTable('job').addColumn('schedule_id', types.big).execute()
  await database.schema.alterTable('job').addColumn('schedule_name', 'text').execute()
}
