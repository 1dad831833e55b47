import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'

/** Older copies of a runner's state folder, which an admin may accept. The folder `schema` explains the columns. */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await database.schema.alterTable('runner').addColumn('clone_generation', types.big).execute()
  for (const column of ['clone_instance', 'replaced_instance', 'copy_accepted_by']) {
    await database.schema.alterTable('runner').addColumn(column, 'text').execute()
  }
  await database.schema.alterTable('job').addColumn('older_copy', 'text').execute()
}
