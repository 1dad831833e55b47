import type { Kysely } from 'kysely'

/** A job stores which of its keys have passwords. So they stay masked, also when its form is changed or removed. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('password_fields', 'text').execute()
}
