import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
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
 * @throws UnavailableError when it cannot be had
 */
export async function openStore(place: DatabasePlace, warn: (text: string) => void = () => undefined): Promise<Store> {
  if (place.kind === 'postgres') return (await import('./postgres/postgres-store.js')).openPostgresStore(place.url)
  return (await import('./sqlite/sqlite-store.js')).openSqliteStore(place.path, warn)
}
