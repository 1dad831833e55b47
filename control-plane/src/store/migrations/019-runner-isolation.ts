import type { Kysely } from 'kysely'

/** How a runner keeps jobs apart, as it says itself. What the column means stands in schema.ts. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('runner').addColumn('isolation', 'text').execute()
}
