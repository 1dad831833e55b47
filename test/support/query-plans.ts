import { Kysely } from 'kysely'
import sqlite3 from 'sqlite3'
import type { Database } from '../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { type Statements, createStatements } from '../../control-plane/src/store/sqlite/sqlite-statements.js'
import type { Queries } from '../../control-plane/src/store/store.js'

/** How SQLite finds the rows of every query that `run` makes: one text for each query, one line for each step. */
export async function plansOf(path: string, run: (queries: Queries) => Promise<unknown>): Promise<string[]> {
  const statements = createStatements(await openReading(path))
  const plans: string[] = []
  const planning: Statements = {
    ...statements,
    async all(sql, parameters) {
      const steps = (await statements.all(`explain query plan ${sql}`, parameters)) as { detail: string }[]
      plans.push(steps.map(({ detail }) => detail).join('\n'))
      return statements.all(sql, parameters)
    },
  }
  try {
    await run(new Kysely<Database>({ dialect: createSqliteDialect([planning]) }))
    return plans
  } finally {
    await statements.close()
  }
}

function openReading(path: string): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const handle = new sqlite3.Database(path, sqlite3.OPEN_READONLY, (error) =>
      error ? reject(error) : resolve(handle),
    )
  })
}
