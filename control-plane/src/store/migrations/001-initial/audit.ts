import { type Kysely, sql } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** The audit trail, its chain, and how far it was sent. */
export async function createAudit(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('audit'), types)
    .addColumn('time', types.big, required)
    .addColumn('user_name', 'text')
    .addColumn('user_type', 'text')
    .addColumn('user_id', types.big)
    .addColumn('address', 'text', required)
    .addColumn('action', 'text', required)
    .addColumn('object_kind', 'text', required)
    .addColumn('object_id', 'text')
    .addColumn('object_name', 'text')
    .addColumn('status', 'integer')
    .addColumn('request_id', 'text', required)
    .addColumn('detail', 'text')
    .addColumn('position', types.big)
    .addColumn('hash', 'text')
    .execute()
  await database.schema.createIndex('audit_action').on('audit').columns(['action', 'id']).execute()
  await database.schema.createIndex('audit_position').unique().on('audit').column('position').execute()
  await database.schema.createIndex('audit_time').on('audit').column('time').execute()
  // The few records that are not in the chain yet.
  await database.schema
    .createIndex('audit_unchained')
    .on('audit')
    .column('id')
    .where(sql<boolean>`position is null`)
    .execute()
  await database.schema.createIndex('audit_user').on('audit').columns(['user_name', 'id']).execute()

  await database.schema
    .createTable('audit_chain')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('head_position', types.big, required)
    .addColumn('head_hash', 'text', required)
    .addColumn('anchor_position', types.big, required)
    .addColumn('anchor_hash', 'text', required)
    .execute()
  const nothing = '0'.repeat(64)
  await sql`insert into audit_chain (id, head_position, head_hash, anchor_position, anchor_hash)
    values (1, 0, ${nothing}, 0, ${nothing})`.execute(database)

  await database.schema
    .createTable('audit_export')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('position', types.big, required)
    .addColumn('holder', 'text')
    .addColumn('held_until', types.big, required)
    .execute()
}
