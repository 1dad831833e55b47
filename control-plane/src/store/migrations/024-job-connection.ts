import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** The connection on which a runner last said that it has a job. The folder `schema` explains the column. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('held_epoch', columnTypesOf(database).big).execute()
}
