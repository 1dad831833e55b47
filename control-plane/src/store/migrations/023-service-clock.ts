import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The time by which waits are measured that outlast a process. What the columns mean stands in schema.ts. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema
    .createTable('service_clock')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('time', types.big, (column) => column.notNull())
    .addColumn('turn', types.big, (column) => column.notNull())
    .execute()
  await sql`insert into service_clock (id, time, turn) values (1, 1000000000000000, 0)`.execute(database)
}
