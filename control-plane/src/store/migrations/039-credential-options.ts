import type { Kysely } from 'kysely'

/** Credentials of databases and client certificates have more than a name and a secret. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('credential').addColumn('options', 'text').execute()
}
