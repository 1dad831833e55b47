import { type Kysely, type Migration, Migrator, sql } from 'kysely'
import { ConflictError } from '../../errors.js'
import type { Database } from '../schema.js'
import * as initial from './001-initial.js'

/**
 * Every step from an empty database to the present tables, in order. A released step never changes: what changes the
 * tables is a new step.
 */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001-initial': initial,
}

/** The table in which Kysely stores the steps that were done. */
const STEPS_TABLE = 'kysely_migration'

/**
 * Brings the tables up to date. Does nothing if they are. A step that was released late is done afterwards, because
 * steps of one release do not build on each other.
 * @throws ConflictError `newer_tables` when a step was done that this release does not know; Error naming the step that
 * failed
 */
export async function migrate(database: Kysely<Database>, steps = MIGRATIONS): Promise<void> {
  const later = (await stepsDone(database))?.find((name) => !Object.hasOwn(steps, name))
  if (later !== undefined) throw newerTables(later)
  const migrator = new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve({ ...steps }) },
    migrationTableName: STEPS_TABLE,
    // Steps that were written at the same time may be done in another order than that of their numbers.
    allowUnorderedMigrations: true,
  })
  const { error, results } = await migrator.migrateToLatest()
  if (!error) return
  const failed = results?.find((result) => result.status === 'Error')?.migrationName ?? 'before the first step'
  throw new Error(`the database could not be brought up to date (${failed})`, { cause: error })
}

/**
 * The steps with these names, to make the tables of an earlier release.
 * @throws ConflictError `newer_tables` when this release does not know one of them
 */
export function migrationsNamed(names: readonly string[]): Readonly<Record<string, Migration>> {
  const entries = names.map((name) => {
    const step = MIGRATIONS[name]
    if (step) return [name, step] as const
    throw newerTables(name)
  })
  return Object.fromEntries(entries)
}

function newerTables(step: string): ConflictError {
  return new ConflictError('newer_tables', `The tables are those of a newer release (${step}): install that one first`)
}

/** What happens to the tables when a database is opened. */
export type Tables = 'brought up to date' | 'taken as they are'

/** Compares the tables with those that this release needs: missing, of an older release, or right. */
export type SchemaState = 'not provisioned' | 'not upgraded' | 'good'

/**
 * Tables of a newer release count as right, because the nodes of a release go on with them while the next one starts.
 * @throws the error of the database when it cannot be read
 */
export async function schemaState(database: Kysely<Database>, steps = MIGRATIONS): Promise<SchemaState> {
  const done = await stepsDone(database)
  if (done === null) return 'not provisioned'
  return Object.keys(steps).every((name) => done.includes(name)) ? 'good' : 'not upgraded'
}

/** The names of the steps that were done; null: the tables were never made. */
async function stepsDone(database: Kysely<Database>): Promise<readonly string[] | null> {
  try {
    return await readSteps(database)
  } catch {
    // The two databases have different errors for a missing table. So the database is asked for its tables.
    const tables = await database.introspection.getTables({ withInternalKyselyTables: true })
    // Another node may have made the table since. Any other error comes again.
    return tables.some((table) => table.name === STEPS_TABLE) ? readSteps(database) : null
  }
}

async function readSteps(database: Kysely<Database>): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(STEPS_TABLE)} order by name`.execute(
    database,
  )
  return rows.map((row) => row.name)
}
