import { Kysely } from 'kysely'
import sqlite3 from 'sqlite3'
import { onTestFinished } from 'vitest'
import { migrate } from '../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { createStatements } from '../../control-plane/src/store/sqlite/sqlite-statements.js'
import type { Queries } from '../../control-plane/src/store/store.js'

/** A database with the present tables in memory, for the statements of the store. It goes with the test. */
export async function memoryDatabase(): Promise<Queries> {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  onTestFinished(() => statements.close())
  const queries = new Kysely<Database>({ dialect: createSqliteDialect([statements]) })
  await migrate(queries)
  return queries
}
