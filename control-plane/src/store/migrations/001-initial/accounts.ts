import type { Kysely } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** The accounts and how they sign in. */
export async function createAccounts(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await createUserTable(database, types)
  await createPastNameTable(database, types)
  await createSessionTable(database, types)
  await createSignInCodeTable(database, types)
  await createSignInFailureTable(database, types)
  await createKnownNetworkTable(database, types)
}

async function createUserTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('user'), types)
    .addColumn('username', 'text', required)
    .addColumn('username_key', 'text', required)
    .addColumn('type', 'text', required)
    .addColumn('password_hash', 'text')
    .addColumn('subject', 'text')
    .addColumn('email', 'text')
    .addColumn('groups', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('groups_left_out', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('created_at', types.big, required)
    .addColumn('password_must_change', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('name_had_by', types.big)
    .addUniqueConstraint('user_name', ['type', 'username_key'])
    .execute()
  await database.schema.createIndex('user_subject').unique().on('user').columns(['type', 'subject']).execute()
}

async function createPastNameTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('past_name')
    .addColumn('type', 'text', required)
    .addColumn('username_key', 'text', required)
    .addColumn('user_id', types.big, required)
    .addPrimaryKeyConstraint('past_name_key', ['type', 'username_key'])
    .execute()
}

async function createSessionTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('session')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('user_id', types.big, (column) => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('kind', 'text', required)
    .addColumn('name', 'text')
    .addColumn('refresh_hash', 'text')
    .addColumn('token_hash', 'text')
    .addColumn('created_at', types.big, required)
    .addColumn('expires_at', types.big, required)
    .addColumn('last_used_at', types.big)
    .addColumn('network', 'text')
    .addColumn('scopes', 'text')
    .execute()
  await database.schema.createIndex('session_expiry').on('session').column('expires_at').execute()
  await database.schema.createIndex('session_user').on('session').column('user_id').execute()
}

async function createSignInCodeTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('sign_in_code')
    .addColumn('hash', 'text', (column) => column.primaryKey())
    .addColumn('user_id', types.big, (column) => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('challenge', 'text', required)
    .addColumn('expires_at', types.big, required)
    .execute()
  await database.schema.createIndex('sign_in_code_user').on('sign_in_code').column('user_id').execute()
}

async function createSignInFailureTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('sign_in_failure')
    .addColumn('key', 'text', (column) => column.primaryKey())
    .addColumn('failures', 'integer', required)
    .addColumn('first_at', types.big, required)
    .addColumn('locked_until', types.big)
    .addColumn('locks', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('locks_count_until', types.big)
    .execute()
}

async function createKnownNetworkTable(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('known_network')
    .addColumn('user_id', types.big, (column) => column.notNull().references('user.id').onDelete('cascade'))
    .addColumn('network', 'text', required)
    .addColumn('last_at', types.big, required)
    .addPrimaryKeyConstraint('known_network_key', ['user_id', 'network'])
    .execute()
}
