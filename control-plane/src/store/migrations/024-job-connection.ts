import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** On which connection a runner last said that it has a job. What the column means stands in schema.ts. */
export async function up(database: Kysely<unknown>): Promise<void> {
  await database.schema.alterTable('job').addColumn('held_epoch', columnTypesOf(database).big).execute()
}
