import { type Kysely, type Migration, Migrator } from 'kysely'
import type { Database } from '../schema.js'
import * as initial from './001-initial.js'
import * as credentials from './004-credentials.js'

/** Every step from an empty database to today's tables, in order. Steps that were released never change. */
const MIGRATIONS: Readonly<Record<string, Migration>> = { '001-initial': initial, '004-credentials': credentials }

/**
 * Brings the tables up to date; does nothing when they are.
 * @throws Error naming the step that failed
 */
export async function migrate(database: Kysely<Database>, steps = MIGRATIONS): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve(steps) },
    // Steps that were made side by side may come to a database in another order than their numbers.
    allowUnorderedMigrations: true,
  })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'before the first step'
  throw new Error(`the database could not be brought up to date (${failed})`, { cause: error })
}
