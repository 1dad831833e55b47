import type { Kysely } from 'kysely'

/** A job remembers which of its keys hold passwords: its form may change or go, and they stay masked. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('password_fields', 'text').execute()
}
