import { type Kysely, PostgresAdapter } from 'kysely'

/** The supported databases. */
export type DialectName = 'sqlite' | 'postgres'

/** Which database `database` uses. Needed for the few statements that differ between the two. */
export function dialectOf<Tables>(database: Kysely<Tables>): DialectName {
  return database.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}
