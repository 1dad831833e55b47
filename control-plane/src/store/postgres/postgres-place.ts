import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { UnavailableError } from '../../errors.js'
import { knownDatabaseId, renewDatabaseId } from '../database-id.js'
import type { RawStore } from '../store.js'

/** How many digits of its hash stand for a place. */
const DIGITS = 16

/** Who is told that a database has got a new id. */
export interface Told {
  readonly warn: (text: string) => void
  /** Milliseconds since the epoch, for the audit trail. */
  readonly now: () => number
}

/**
 * Notices that a database is not where its id was given, and then gives it a new one. A dump that was put back has new
 * tables, a copy is another database, and a server that was taken back to an earlier moment writes a new timeline. Its id
 * ends with a word for all of this. A standby that takes over has a new timeline as well: a new id does no harm then.
 * @throws UnavailableError when the server does not answer
 */
export async function settlePlace(store: RawStore, { warn, now }: Told): Promise<void> {
  const place = await placeOf(store)
  const known = await knownDatabaseId(store.read)
  if (known !== null && (place === null || known.endsWith(`.${place}`))) return
  // The id was given while the server did not say its place.
  const reason = known?.includes('.')
    ? 'The database was put back, copied or moved, or a standby took over'
    : 'The id of the database does not say where it was given'
  await renewDatabaseId(store, known, known === null ? null : { reason, time: now() }, place)
  if (known === null) return
  warn(`${reason}, so the database gets a new id: whoever follows jobs or the audit trail begins again`)
}

/** Gives the database a new id, because it has lost commits. @param known the id that it had */
export async function renewAfterLoss(store: RawStore, known: string | null, { warn, now }: Told): Promise<void> {
  const reason = 'The database has lost its last commits, as when a standby took over that was behind'
  await renewDatabaseId(store, known, { reason, time: now() }, await placeOf(store))
  warn(`${reason}: all runners list their jobs anew, and whoever follows jobs or the audit trail begins again`)
}

/** Null: the server refuses to say it to this user. A server that does not answer at all has not refused. */
async function placeOf(store: RawStore): Promise<string | null> {
  try {
    const { rows } = await sql<{ place: string }>`
      select concat_ws('/', (select system_identifier from pg_control_system()),
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8),
        (select oid from pg_database where datname = current_database()), 'database_id'::regclass::oid) as place
    `.execute(store.read)
    return rows[0] ? createHash('sha256').update(rows[0].place).digest('hex').slice(0, DIGITS) : null
  } catch (error) {
    if (error instanceof UnavailableError) throw error
    return null
  }
}
