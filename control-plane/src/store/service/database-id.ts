import { randomUUID } from 'node:crypto'
import type { Store } from '../store.js'

const ROW = 1

/**
 * The id of this database. The first control plane that asks gives it, so a restored database gets another one: numbers
 * that were given after the backup are then given again, and whoever follows something by its numbers begins again.
 */
export async function databaseIdOf(store: Store): Promise<string> {
  const known = await store.read.selectFrom('database_id').select('id').where('row', '=', ROW).executeTakeFirst()
  if (known) return known.id
  return store.write('service.name-database', async (queries) => {
    const given = { row: ROW, id: randomUUID() }
    await queries
      .insertInto('database_id')
      .values(given)
      .onConflict((conflict) => conflict.column('row').doNothing())
      .execute()
    return (await queries.selectFrom('database_id').select('id').where('row', '=', ROW).executeTakeFirstOrThrow()).id
  })
}
