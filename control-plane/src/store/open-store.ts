import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { ConflictError, UnavailableError, messageOf } from '../errors.js'
import { type Tables, schemaState } from './migrations/index.js'
import type { RawStore } from './store.js'
import type { Timers } from '../time/timers.js'
import type { Ground } from '../ground/ground.js'

/** Where the database is. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The address may contain a password. Only the driver may get it. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Takes the database for this process, if only one process may use it. On PostgreSQL any number may.
 * @param warn called with a sentence for the operator
 * @returns a function that gives the database back, as the end of the process does
 * @throws DatabaseHeldError when another process has it, UnavailableError when this cannot be found out
 */
export async function holdDatabase(
  place: DatabasePlace,
  now: number,
  warn: (text: string) => void = () => undefined,
): Promise<() => Promise<void>> {
  if (place.kind === 'postgres') return () => Promise.resolve()
  const { holdSqliteFile } = await import('./sqlite/sqlite-hold.js')
  const holder = { token: randomBytes(12).toString('hex'), pid: process.pid, host: hostname(), since: now }
  const hold = await holdSqliteFile(place.path, holder, { warn })
  return () => hold.close()
}

/**
 * Opens the database. Only the driver of this kind of database is loaded.
 * @param warn called with a sentence for the operator
 * @param tables whether the tables are first brought up to date
 * @throws UnavailableError when the database cannot be opened
 */
export async function openStore(
  place: DatabasePlace,
  warn: (text: string) => void = () => undefined,
  tables: Tables = 'brought up to date',
): Promise<RawStore> {
  if (place.kind === 'postgres') {
    return (await import('./postgres/postgres-store.js')).openPostgresStore(place.url, tables)
  }
  return (await import('./sqlite/sqlite-store.js')).openSqliteStore(place.path, warn, tables)
}

/**
 * Gives the database a new id when it was put back to an earlier state by hand, or is a copy.
 * @returns what ends the watch, while the database is still open
 */
export async function noticeOtherState(
  place: DatabasePlace,
  store: RawStore,
  deps: { readonly timers: Timers; readonly warn: (text: string) => void; readonly now: () => number },
): Promise<() => Promise<void>> {
  if (place.kind === 'postgres') {
    await (await import('./postgres/postgres-place.js')).settlePlace(store, deps)
    return () => Promise.resolve()
  }
  const mark = await (await import('./sqlite/number-mark.js')).keepNumberMark(place.path, store, deps)
  return () => mark.close()
}

/** Why sessions of the database do not work as this service needs them, as a sentence; null: they do, as far as is known. */
export async function findSessionDoubt(place: DatabasePlace): Promise<string | null> {
  if (place.kind === 'sqlite') return null
  return (await import('./postgres/session-doubt.js')).sessionDoubtOf(place.url)
}

/**
 * Opens the database, while a control plane may work on it. It makes nothing and changes no table.
 * @throws ConflictError when there is no such database, when its file belongs to another user of this host, or when its
 * tables are those of another release; UnavailableError when it cannot be opened
 */
export async function openStoreBeside(place: DatabasePlace, uid: number | null): Promise<RawStore> {
  if (place.kind === 'sqlite') await requireOwnFile(place.path, uid)
  const store = await openStore(place, undefined, 'taken as they are')
  const state = await schemaState(store.read)
  if (state === 'good') return store
  await store.close()
  const words = state === 'not upgraded' ? 'are those of an older release' : 'were never made'
  throw new ConflictError(
    'other_tables',
    `The tables of the database ${words}: start the control plane of this release`,
  )
}

/**
 * SQLite makes files beside the database. If they belonged to another user, the control plane could not open its own
 * database.
 */
async function requireOwnFile(path: string, uid: number | null): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    throw new ConflictError('no_database', `There is no database to open: ${messageOf(error)}`)
  })
  if (uid === null || found.uid === uid) return
  throw new ConflictError(
    'not_owner',
    `The database ${path} belongs to the user with the id ${found.uid}: do it as that user, such as with runuser -u holdfast --`,
  )
}

/**
 * How long a start is done again when a PostgreSQL server goes away while it asks, and the pause between two of them, in
 * milliseconds. Each of them waits for the server itself, when it opens the database.
 */
const START_MS = 30_000
const START_AGAIN_MS = 500

/** What a start meets that had the database already. One that cannot have it at all has waited for it before. */
const WENT_AWAY: ReadonlySet<string> = new Set(['database_unavailable', 'database_answer_lost'])

/**
 * Does a start again when a PostgreSQL server goes away meanwhile. Everything that a start stores is stored once: it
 * looks first what is there.
 * @param start closes everything that it has opened when it throws
 */
export async function startWithDatabase<Started>(
  { kind }: DatabasePlace,
  start: () => Promise<Started>,
  warn: (text: string) => void,
): Promise<Started> {
  let since: number | null = null
  for (;;) {
    try {
      return await start()
    } catch (error) {
      const wentAway = kind === 'postgres' && error instanceof UnavailableError && WENT_AWAY.has(error.code)
      since ??= performance.now()
      if (!wentAway || performance.now() - since > START_MS) throw error
      warn(`the start is done again, because the database went away: ${error.message}`)
    }
    await delay(START_AGAIN_MS)
  }
}

/** What the store needs of the settings. */
export interface StoreSettings {
  readonly database: DatabasePlace
}

/**
 * Opens the database. A database file is reserved for this process before its tables are brought up to date.
 * @throws DatabaseHeldError, UnavailableError
 */
export async function composeStore(
  { clock, timers, log, onClose }: Ground,
  { database }: StoreSettings,
): Promise<RawStore> {
  const warn = (text: string) => log.warn(text)
  const letGo = await holdDatabase(database, clock.now(), warn)
  onClose(letGo)
  const store = await openStore(database, warn)
  onClose(() => store.close())
  onClose(await noticeOtherState(database, store, { timers, warn, now: () => clock.now() }))
  return store
}
