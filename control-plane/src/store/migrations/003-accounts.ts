import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** API tokens and the audit trail. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('session').addColumn('token_hash', 'text').execute()
  await database.schema
    .createTable('audit')
    .addColumn('id', types.id, (column) =>
      types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
    )
    .addColumn('time', types.big, (column) => column.notNull())
    .addColumn('user_name', 'text')
    .addColumn('user_type', 'text')
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('object_kind', 'text', (column) => column.notNull())
    .addColumn('object_id', 'text')
    .addColumn('object_name', 'text')
    .addColumn('status', 'integer')
    .addColumn('request_id', 'text', (column) => column.notNull())
    .execute()
  await database.schema.createIndex('audit_time').on('audit').column('time').execute()
  await database.schema.createIndex('audit_user').on('audit').columns(['user_name', 'id']).execute()
  await database.schema.createIndex('audit_action').on('audit').columns(['action', 'id']).execute()
  // An index for the numbers that the metrics count at every scrape.
  await database.schema
    .createIndex('job_end')
    .on('job')
    .column('end_time')
    .where(sql<boolean>`end_time is not null`)
    .execute()
}
