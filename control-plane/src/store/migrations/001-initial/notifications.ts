import type { Kysely } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** Notifications: the targets, the events, and the deliveries. */
export async function createNotifications(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await withId(database.schema.createTable('notification_target'), types)
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('kind', 'text', required)
    .addColumn('url', 'text', required)
    .addColumn('secret', types.bytes, required)
    .addColumn('events', 'text', required)
    .addColumn('enabled', 'integer', required)
    .addColumn('created_at', types.big, required)
    .addColumn('created_by', 'text', required)
    .execute()

  await withId(database.schema.createTable('notification_event'), types)
    .addColumn('kind', 'text', required)
    .addColumn('at', types.big, required)
    .addColumn('data', 'text', required)
    .execute()

  await withId(database.schema.createTable('notification_delivery'), types)
    .addColumn('uid', 'text', (column) => column.notNull().unique())
    .addColumn('lane', 'text', required)
    .addColumn('target_id', types.big)
    .addColumn('recipient', 'text', required)
    .addColumn('event', 'text', required)
    .addColumn('event_at', types.big, required)
    .addColumn('job_id', types.big)
    .addColumn('subject', 'text')
    .addColumn('body', 'text', required)
    .addColumn('state', 'text', required)
    .addColumn('attempts', 'integer', required)
    .addColumn('next_at', types.big)
    .addColumn('lease', 'text')
    .addColumn('lease_until', types.big)
    .addColumn('problem', 'text')
    .addColumn('created_at', types.big, required)
    .addColumn('ended_at', types.big)
    .execute()
  await database.schema.createIndex('notification_due').on('notification_delivery').column('next_at').execute()
  await database.schema.createIndex('notification_ended').on('notification_delivery').column('ended_at').execute()
}
