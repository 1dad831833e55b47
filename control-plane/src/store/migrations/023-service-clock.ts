import { type Kysely, sql } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The clock for waits that are longer than the life of a process. The folder `schema` explains the columns. */
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
