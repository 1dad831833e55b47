import { Kysely } from 'kysely'
import sqlite3 from 'sqlite3'
import { onTestFinished } from 'vitest'
import { migrate } from '../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { type Statements, createStatements } from '../../control-plane/src/store/sqlite/sqlite-statements.js'
import type { Queries } from '../../control-plane/src/store/store.js'

/** The statements that make the present tables at once, which is quicker than the steps one by one. */
let template: Promise<string> | null = null

/** A database with the present tables in memory, for the statements of the store. It goes with the test. */
export async function memoryDatabase(): Promise<Queries> {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  onTestFinished(() => statements.close())
  template ??= templateOf()
  await statements.execute(await template)
  return queriesOf(statements)
}

const queriesOf = (statements: Statements) => new Kysely<Database>({ dialect: createSqliteDialect([statements]) })

async function templateOf(): Promise<string> {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  await migrate(queriesOf(statements))
  const ask = (text: string) => statements.all(text, []) as Promise<Record<string, string | number>[]>
  const made = await ask(`select name, type, sql from sqlite_master where sql is not null and name not like 'sqlite_%'`)
  const inserts: string[] = []
  for (const { name } of made.filter(({ type }) => type === 'table')) {
    for (const row of await ask(`select * from "${name}"`)) {
      const values = Object.values(row).map((value) => (typeof value === 'number' ? value : `'${value}'`))
      inserts.push(`insert into "${name}" values (${values.join(', ')})`)
    }
  }
  await statements.close()
  return ['begin', ...made.map(({ sql }) => sql), ...inserts, 'commit'].join(';\n')
}
