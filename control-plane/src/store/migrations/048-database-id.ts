import type { Kysely } from 'kysely'

/** The id of the database, which the first control plane that uses it makes. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema
    .createTable('database_id')
    .addColumn('row', 'integer', (column) => column.primaryKey())
    .addColumn('id', 'text', (column) => column.notNull())
    .execute()
}
