import { type Kysely, PostgresAdapter } from 'kysely'

/** The databases that there are words for. */
export type DialectName = 'sqlite' | 'postgres'

/** Which database `database` talks to: for the few statements that have no words in common. */
export function dialectOf<Tables>(database: Kysely<Tables>): DialectName {
  return database.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}
