import type { Kysely } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** Launches at given times. */
export async function createSchedules(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('schedule'), types)
    .addColumn('name', 'text', required)
    .addColumn('form', 'text', required)
    .addColumn('cron', 'text')
    .addColumn('time_zone', 'text', required)
    .addColumn('once_at', types.big)
    .addColumn('missed', 'text', required)
    .addColumn('paused', 'integer', required)
    .addColumn('user_id', types.big, required)
    .addColumn('user_name', 'text', required)
    .addColumn('user_type', 'text', required)
    .addColumn('form_values', 'text', required)
    .addColumn('credentials', 'text', required)
    .addColumn('verbose', 'integer', required)
    .addColumn('turn', types.big, required)
    .addColumn('next_at', types.big)
    .addColumn('last_at', types.big)
    .addColumn('last_job_id', types.big)
    .addColumn('last_problem', 'text')
    .addColumn('created_at', types.big, required)
    .execute()
  await database.schema.createIndex('schedule_next').on('schedule').column('next_at').execute()
}
