import { type Kysely, type Migration, Migrator } from 'kysely'
import type { Database } from '../schema.js'
import * as initial from './001-initial.js'
import * as uploads from './005-uploads.js'

/** Every step from an empty database to today's tables, in order. Steps that were released never change. */
const MIGRATIONS: Readonly<Record<string, Migration>> = { '001-initial': initial, '005-uploads': uploads }

/**
 * Brings the tables up to date; does nothing when they are. Steps stand for themselves: a number that is missing, or
 * that comes after a later one was run, is no fault.
 * @throws Error naming the step that failed
 */
export async function migrate(
  database: Kysely<Database>,
  migrations: Readonly<Record<string, Migration>> = MIGRATIONS,
): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve({ ...migrations }) },
    allowUnorderedMigrations: true,
  })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'before the first step'
  throw new Error(`the database could not be brought up to date (${failed})`, { cause: error })
}
