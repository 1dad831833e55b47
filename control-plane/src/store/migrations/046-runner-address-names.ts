import type { Kysely } from 'kysely'

/** The name that an admin expects of a dialled runner. The folder `schema` explains the column. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('runner_address').addColumn('name', 'text').execute()
}
