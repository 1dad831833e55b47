import { Kysely, type Migration, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { expect, test } from 'vitest'
import { migrate } from '../../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

test('a step that is missing before a later one is done afterwards, and no step is done twice', async () => {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  const database = new Kysely<Database>({ dialect: createSqliteDialect([statements]) })
  const done: string[] = []
  const step = (name: string): Migration => ({
    up: async (at) => {
      done.push(name)
      await sql.raw(`create table ${name} (id integer)`).execute(at as Kysely<unknown>)
    },
  })
  await migrate(database, { '001-a': step('a'), '004-d': step('d') })
  await migrate(database, { '001-a': step('a'), '002-b': step('b'), '003-c': step('c'), '004-d': step('d') })
  await migrate(database, { '001-a': step('a'), '002-b': step('b'), '003-c': step('c'), '004-d': step('d') })
  expect(done).toEqual(['a', 'd', 'b', 'c'])
  await statements.close()
})
