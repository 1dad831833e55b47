import type { Kysely } from 'kysely'

/** Requests of runners that an admin keeps, and streams of which no more is kept. What each column means stands in schema.ts. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('runner').addColumn('kept_by', 'text').execute()
  for (const column of ['output_full', 'events_full']) {
    await database.schema
      .alterTable('job_stream')
      .addColumn(column, 'integer', (type) => type.notNull().defaultTo(0))
      .execute()
  }
}
