import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Users who are not local, and the codes for clients that opened a browser. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('user').addColumn('subject', 'text').execute()
  await database.schema.createIndex('user_subject').unique().on('user').columns(['type', 'subject']).execute()
  await database.schema
    .createTable('sign_in_code')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('user_id', types.big, (column) => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('challenge', 'text', (column) => column.notNull())
    .addColumn('expires_at', types.big, (column) => column.notNull())
    .execute()
  await database.schema.createIndex('sign_in_code_user').on('sign_in_code').column('user_id').execute()
}
