import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * How long a job may run, how long it has run, and how many jobs of its group may run at once. The folder `schema` explains the
 * columns.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  const job = () => database.schema.alterTable('job')
  await job().addColumn('time_limit_ms', types.big).execute()
  await job()
    .addColumn('ran_ms', types.big, (column) => column.notNull().defaultTo(0))
    .execute()
  await job().addColumn('counted_at', types.big).execute()
  await job().addColumn('concurrency_group', 'text').execute()
  await job().addColumn('concurrency_limit', 'integer').execute()
  await job()
    .addColumn('has_place', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await database.schema
    .createIndex('job_concurrency_group')
    .on('job')
    .columns(['concurrency_group', 'dispatch', 'id'])
    .execute()
}
