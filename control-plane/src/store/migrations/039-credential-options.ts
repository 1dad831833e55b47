import type { Kysely } from 'kysely'

/** Credentials of databases and client certificates carry more than a login. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('credential').addColumn('options', 'text').execute()
}
