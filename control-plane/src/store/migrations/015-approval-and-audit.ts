import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/**
 * The files that an approved job may run, and the chain of the audit trail. The folder `schema` explains the columns. Jobs that
 * wait already have no manifest, and are approved as before. Existing records are chained like new ones.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('job').addColumn('approved_manifest', 'text').execute()

  for (const column of ['detail', 'hash'] as const) {
    await database.schema.alterTable('audit').addColumn(column, 'text').execute()
  }
  await database.schema.alterTable('audit').addColumn('position', types.big).execute()
  await database.schema.createIndex('audit_position').unique().on('audit').column('position').execute()
  // The few records that are not in the chain yet.
  await database.schema
    .createIndex('audit_unchained')
    .on('audit')
    .column('id')
    .where(sql<boolean>`position is null`)
    .execute()
  await database.schema
    .createTable('audit_chain')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('head_position', types.big, (column) => column.notNull())
    .addColumn('head_hash', 'text', (column) => column.notNull())
    .addColumn('anchor_position', types.big, (column) => column.notNull())
    .addColumn('anchor_hash', 'text', (column) => column.notNull())
    .execute()
  const nothing = '0'.repeat(64)
  await sql`insert into audit_chain (id, head_position, head_hash, anchor_position, anchor_hash)
    values (1, 0, ${nothing}, 0, ${nothing})`.execute(database)
  await database.schema
    .createTable('audit_export')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('position', types.big, (column) => column.notNull())
    .addColumn('holder', 'text')
    .addColumn('held_until', types.big, (column) => column.notNull())
    .execute()
}
