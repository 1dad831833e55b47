import { type Kysely, sql } from 'kysely'
import { type ColumnTypes, required, withId } from '../../sql/column-types.js'

/** The first time of the service clock, in milliseconds. It is later than any wall clock, so nobody takes one for the other. */
export const SERVICE_CLOCK_ORIGIN = 1_000_000_000_000_000

/** What the service knows of itself, and the stored credentials. */
export async function createService(database: Kysely<unknown>, types: ColumnTypes): Promise<void> {
  await database.schema
    .createTable('node')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('version', 'text', required)
    .addColumn('address', 'text', required)
    .addColumn('started_at', types.big, required)
    .addColumn('last_seen', types.big, required)
    .execute()

  await database.schema
    .createTable('appearance')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('theme', 'text', required)
    .addColumn('name', 'text', required)
    .addColumn('announcement', 'text', required)
    .addColumn('environment', 'text', required)
    .execute()

  await database.schema
    .createTable('lock')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('holder', 'text', required)
    .addColumn('holder_id', types.big)
    .addColumn('taken_at', types.big, required)
    .addColumn('touched_at', types.big, required)
    .execute()

  await withId(database.schema.createTable('credential'), types)
    .addColumn('name', 'text', (column) => column.notNull().unique())
    .addColumn('type', 'text', required)
    .addColumn('user_name', 'text')
    .addColumn('host', 'text')
    .addColumn('port', 'integer')
    .addColumn('description', 'text', required)
    .addColumn('options', 'text')
    .addColumn('secret', types.bytes, required)
    .addColumn('created_at', types.big, required)
    .addColumn('updated_at', types.big, required)
    .execute()

  await database.schema
    .createTable('service_clock')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('time', types.big, required)
    .addColumn('turn', types.big, required)
    .execute()
  for (const id of [1, 2])
    await sql`insert into service_clock (id, time, turn) values (${id}, ${SERVICE_CLOCK_ORIGIN}, 0)`.execute(database)

  await database.schema
    .createTable('shown_time')
    .addColumn('hour', types.big, (column) => column.primaryKey())
    .addColumn('earliest', types.big, required)
    .addColumn('latest', types.big, required)
    .execute()

  await database.schema
    .createTable('database_id')
    .addColumn('row', 'integer', (column) => column.primaryKey())
    .addColumn('id', 'text', required)
    .execute()
}
