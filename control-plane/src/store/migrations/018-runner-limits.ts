import type { Kysely } from 'kysely'

/** Requests of runners that an admin keeps, and full streams. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('runner').addColumn('kept_by', 'text').execute()
  for (const column of ['output_full', 'events_full']) {
    await database.schema
      .alterTable('job_stream')
      .addColumn(column, 'integer', (type) => type.notNull().defaultTo(0))
      .execute()
  }
}
