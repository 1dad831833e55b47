import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Notifications: the targets, the events, and the deliveries. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  const withId = (name: string) =>
    database.schema
      .createTable(name)
      .addColumn('id', types.id, (column) =>
        types.autoIncrement ? column.primaryKey().autoIncrement() : column.primaryKey(),
      )
  await withId('notification_target')
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('url', 'text', (column) => column.notNull())
    .addColumn('secret', types.bytes, (column) => column.notNull())
    .addColumn('events', 'text', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', types.big, (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .execute()
  await withId('notification_event')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('at', types.big, (column) => column.notNull())
    .addColumn('data', 'text', (column) => column.notNull())
    .execute()
  await withId('notification_delivery')
    .addColumn('uid', 'text', (column) => column.notNull().unique())
    .addColumn('lane', 'text', (column) => column.notNull())
    .addColumn('target_id', types.big)
    .addColumn('recipient', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('event_at', types.big, (column) => column.notNull())
    .addColumn('job_id', types.big)
    .addColumn('subject', 'text')
    .addColumn('body', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_at', types.big)
    .addColumn('lease', 'text')
    .addColumn('lease_until', types.big)
    .addColumn('problem', 'text')
    .addColumn('created_at', types.big, (column) => column.notNull())
    .addColumn('ended_at', types.big)
    .execute()
  await database.schema.createIndex('notification_due').on('notification_delivery').column('next_at').execute()
  await database.schema.createIndex('notification_ended').on('notification_delivery').column('ended_at').execute()
  await database.schema.alterTable('job').addColumn('notifications', 'text').execute()
  await database.schema.alterTable('runner').addColumn('lost_at', types.big).execute()
}
