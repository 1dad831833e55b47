import { Kysely, type Migration, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { migrate, migrationsNamed, schemaState } from '../../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

/** An empty database, and steps that note that they were done. */
function made() {
  const statements = createStatements(new sqlite3.Database(':memory:'))
  onTestFinished(() => statements.close())
  const done: string[] = []
  const step = (name: string, isBroken = false): Migration => ({
    up: async (at) => {
      await sql`create table ${sql.table(name)} (id integer)`.execute(at)
      if (isBroken) throw new Error('broken')
      done.push(name)
    },
  })
  return { database: new Kysely<Database>({ dialect: createSqliteDialect([statements]) }), done, step }
}

test('a step that is missing before a later one is done afterwards, and no step is done twice', async () => {
  const { database, done, step } = made()
  await migrate(database, { '001-a': step('a'), '004-d': step('d') })
  for (let count = 0; count < 2; count += 1)
    await migrate(database, { '001-a': step('a'), '002-b': step('b'), '004-d': step('d') })
  expect(done).toEqual(['a', 'd', 'b'])
})

test('a step that fails is named and undone', async () => {
  const { database, done, step } = made()
  await expect(migrate(database, { '001-a': step('a'), '002-b': step('b', true) })).rejects.toThrow(/002-b/)
  await migrate(database, { '001-a': step('a'), '002-b': step('b') })
  expect(done.at(-1)).toBe('b')
})

test('the nodes of a release go on while the next release starts and changes the tables', async () => {
  const { database, step } = made()
  const states: string[] = [await schemaState(database)]
  await migrate(database)
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(database)
  const next = { ...migrationsNamed(rows.map(({ name }) => name)), '999-later': step('later') }
  states.push(await schemaState(database), await schemaState(database, next))
  await migrate(database, next)
  states.push(await schemaState(database, next), await schemaState(database))
  expect(states).toEqual(['not provisioned', 'good', 'not upgraded', 'good', 'good'])
})
