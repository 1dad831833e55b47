import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { ConflictError, messageOf } from '../errors.js'
import { type Tables, schemaState } from './migrations/index.js'
import type { Store } from './store.js'

/** Where the database is. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The address may hold a password: it is for the driver and nobody else. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Takes the database for this process where no other one may work on it. On PostgreSQL any number may.
 * @param warn told what an operator should know, in one sentence
 * @returns what gives it back, as the end of the process does
 * @throws DatabaseHeldError when another process has it, UnavailableError when that cannot be found out
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
 * Opens the database; its driver is loaded when it is the one that is used.
 * @param warn told what an operator should know, in one sentence
 * @param tables whether they are brought up to date first
 * @throws UnavailableError when it cannot be had
 */
export async function openStore(
  place: DatabasePlace,
  warn: (text: string) => void = () => undefined,
  tables: Tables = 'brought up to date',
): Promise<Store> {
  if (place.kind === 'postgres') {
    return (await import('./postgres/postgres-store.js')).openPostgresStore(place.url, tables)
  }
  return (await import('./sqlite/sqlite-store.js')).openSqliteStore(place.path, warn, tables)
}

/**
 * Opens the database beside a control plane that may work on it. Nothing is made and no table is changed.
 * @throws ConflictError when there is no such database, when its file belongs to another
 *   user of this host, or when its tables are those of another release; UnavailableError when it cannot be had
 */
export async function openStoreBeside(place: DatabasePlace, uid: number | null): Promise<Store> {
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

/** SQLite makes files beside the database. Those of another user would keep the control plane from its own database. */
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
