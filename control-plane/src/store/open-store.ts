import type { Store } from './store.js'

/** Where the database is. */
export type DatabasePlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  /** The address may hold a password: it is for the driver and nobody else. */
  | { readonly kind: 'postgres'; readonly url: string }

/**
 * Opens the database; its driver is loaded when it is the one that is used.
 * @param warn told what an operator should know, in one sentence
 * @throws UnavailableError when it cannot be had
 */
export async function openStore(place: DatabasePlace, warn: (text: string) => void = () => undefined): Promise<Store> {
  if (place.kind === 'postgres') return (await import('./postgres-store.js')).openPostgresStore(place.url)
  return (await import('./sqlite-store.js')).openSqliteStore(place.path, warn)
}
