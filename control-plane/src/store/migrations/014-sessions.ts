import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * Limits on guessing by address and name, more columns of sessions, and first passwords. The folder `schema` explains the
 * columns.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .alterTable('sign_in_failure')
    .addColumn('locks', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await database.schema.alterTable('sign_in_failure').addColumn('locks_count_until', types.big).execute()
  await database.schema.alterTable('session').addColumn('network', 'text').execute()
  await database.schema.alterTable('session').addColumn('scopes', 'text').execute()
  await database.schema
    .alterTable('user')
    .addColumn('password_must_change', 'integer', (column) => column.notNull().defaultTo(0))
    .execute()
  await database.schema
    .createTable('known_network')
    .addColumn('user_id', types.big, (column) => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('network', 'text', (column) => column.notNull())
    .addColumn('last_at', types.big, (column) => column.notNull())
    .addPrimaryKeyConstraint('known_network_key', ['user_id', 'network'])
    .execute()
}
