import { randomUUID } from 'node:crypto'
import { insertAudit } from './audit/audit.js'
import type { Queries, RawStore } from './store.js'

const ROW = 1

/**
 * The id of this database. The first control plane that asks for it makes it. So a restored database gets another id.
 * It uses the numbers again that were given after the backup. Because of the new id, everybody who follows something by
 * its numbers begins again.
 */
export async function databaseIdOf(store: RawStore): Promise<string> {
  return (await knownDatabaseId(store.read)) ?? (await renewDatabaseId(store, null, null))
}

/** Null: nobody has given it yet. */
export async function knownDatabaseId(queries: Queries): Promise<string | null> {
  const known = await queries.selectFrom('database_id').select('id').where('row', '=', ROW).executeTakeFirst()
  return known?.id ?? null
}

/** Why a database that had an id gets a new one, for the audit trail. */
export interface Renewal {
  /** A sentence. */
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly time: number
}

/**
 * Gives the database a new id, unless somebody else has done so meanwhile. The audit trail says why.
 * @param known the id that it had; null: it had none
 * @param renewal null for a database that has no id yet
 * @param place a word for where the database is, for the end of the id
 * @returns the id that it has now
 */
export function renewDatabaseId(
  store: RawStore,
  known: string | null,
  renewal: Renewal | null,
  place: string | null = null,
): Promise<string> {
  return store.write('service.name-database', async (queries) => {
    const now = await knownDatabaseId(queries)
    if (now !== null && now !== known) return now
    const id = place === null ? randomUUID() : `${randomUUID()}.${place}`
    await queries
      .insertInto('database_id')
      .values({ row: ROW, id })
      .onConflict((conflict) => conflict.column('row').doUpdateSet({ id }))
      .execute()
    if (renewal !== null) {
      await insertAudit(queries, {
        time: renewal.time,
        user: null,
        address: '',
        action: 'database.went_back',
        object: { kind: 'service', id: null, name: null },
        status: 200,
        requestId: randomUUID(),
        detail: renewal.reason,
      })
    }
    return id
  })
}
