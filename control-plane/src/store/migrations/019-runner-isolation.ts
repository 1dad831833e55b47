import type { Kysely } from 'kysely'

/** The isolation of jobs that a runner reports. The folder `schema` explains the column. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('runner').addColumn('isolation', 'text').execute()
}
