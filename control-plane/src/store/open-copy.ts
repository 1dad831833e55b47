import type { DatabasePlace } from './open-store.js'
import type { DatabaseFilling, DatabaseSnapshot } from './engine/copied-database.js'

/** Opens one state of a database. A control plane may work on the database meanwhile. @throws UnavailableError */
export async function openSnapshot(place: DatabasePlace): Promise<DatabaseSnapshot> {
  return place.kind === 'postgres'
    ? (await import('./postgres/postgres-copy.js')).openPostgresSnapshot(place.url)
    : (await import('./sqlite/sqlite-copy.js')).openSqliteSnapshot(place.path)
}

/**
 * Begins to fill a database that no control plane uses.
 * @param steps the migrations that made the tables of the copy
 * @param replacing null: the database must be empty. Otherwise its present content is removed; SQLite moves it into a
 * file of this name
 * @throws ConflictError `database_not_empty`, UnavailableError
 */
export async function fillDatabase(
  place: DatabasePlace,
  steps: readonly string[],
  replacing: string | null,
): Promise<DatabaseFilling> {
  return place.kind === 'postgres'
    ? (await import('./postgres/postgres-copy.js')).fillPostgres(place.url, steps, replacing !== null)
    : (await import('./sqlite/sqlite-copy.js')).fillSqlite(place.path, steps, replacing)
}
