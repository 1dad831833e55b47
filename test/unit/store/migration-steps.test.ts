import { Kysely, type Migration, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { expect, test } from 'vitest'
import { migrate, migrationsNamed, schemaState } from '../../../control-plane/src/store/migrations/index.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'

async function inMemory(run: (database: Kysely<Database>) => Promise<void>): Promise<void> {
  const handle = await new Promise<sqlite3.Database>((resolve, reject) => {
    const made: sqlite3.Database = new sqlite3.Database(':memory:', (error) => (error ? reject(error) : resolve(made)))
  })
  const statements = createStatements(handle)
  try {
    await run(new Kysely<Database>({ dialect: createSqliteDialect([statements]) }))
  } finally {
    await statements.close()
  }
}

const step = (table: string): Migration => ({
  up: async (database) => {
    await sql`create table ${sql.table(table)} (id integer)`.execute(database)
  },
})
const tablesOf = async (database: Kysely<Database>) =>
  (
    await sql<{ name: string }>`select name from sqlite_master where name like 't_' order by name`.execute(database)
  ).rows.map(({ name }) => name)

test('numbers of steps may have gaps, and a later step with a lower number is run', () =>
  inMemory(async (database) => {
    await migrate(database, { '001-a': step('t1'), '005-e': step('t5') })
    expect(await tablesOf(database)).toEqual(['t1', 't5'])
    await migrate(database, { '001-a': step('t1'), '003-c': step('t3'), '005-e': step('t5'), '006-f': step('t6') })
    await migrate(database, { '001-a': step('t1'), '003-c': step('t3'), '005-e': step('t5'), '006-f': step('t6') })
    expect(await tablesOf(database)).toEqual(['t1', 't3', 't5', 't6'])
  }))

test('a failing step is named and undone', () =>
  inMemory(async (database) => {
    const broken: Migration = {
      up: async (queries) => {
        await sql`create table t2 (id integer)`.execute(queries)
        throw new Error('broken')
      },
    }
    await expect(migrate(database, { '001-a': step('t1'), '002-b': broken })).rejects.toThrow(/002-b/)
    await migrate(database, { '001-a': step('t1'), '002-b': step('t2') })
    expect(await tablesOf(database)).toEqual(['t1', 't2'])
  }))

test('the present tables are made once and stay', () =>
  inMemory(async (database) => {
    await migrate(database)
    await migrate(database)
    expect(await database.selectFrom('upload').selectAll().execute()).toEqual([])
    expect(await database.selectFrom('job_file').selectAll().execute()).toEqual([])
  }))

/** All steps of this release. */
async function presentSteps(database: Kysely<Database>) {
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(database)
  return migrationsNamed(rows.map(({ name }) => name))
}

test('the state of the tables is told: missing, of an older release, or good', () =>
  inMemory(async (database) => {
    expect(await schemaState(database)).toBe('not provisioned')
    await migrate(database)
    expect(await schemaState(database)).toBe('good')
    const later = { ...(await presentSteps(database)), '999-later': step('t2') }
    expect(await schemaState(database, later)).toBe('not upgraded')
    await migrate(database, later)
    expect(await schemaState(database, later)).toBe('good')
    // The nodes of a release go on while the next release starts and changes the tables.
    expect(await schemaState(database)).toBe('good')
  }))

test('tables of a newer release are refused with its step, and stay', () =>
  inMemory(async (database) => {
    await migrate(database)
    await migrate(database, { ...(await presentSteps(database)), '999-later': step('t2') })
    await expect(migrate(database)).rejects.toMatchObject({
      code: 'newer_tables',
      message: 'The tables are those of a newer release (999-later): install that one first',
    })
    expect(await tablesOf(database)).toEqual(['t2'])
  }))

/** The database, in which the statements that read the steps fail, as often as `times` says. */
function failing(database: Kysely<Database>, times: number): Kysely<Database> {
  let left = times
  return database.withPlugin({
    transformQuery({ node }) {
      if (node.kind === 'RawNode' && left > 0) {
        left -= 1
        throw new Error('cut')
      }
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
}

test('tables that are there and cannot be read are an error, not missing', () =>
  inMemory(async (database) => {
    await migrate(database)
    await expect(schemaState(failing(database, 2))).rejects.toThrow('cut')
  }))

test('tables that another node makes at the same moment are read', () =>
  inMemory(async (database) => {
    await migrate(database)
    expect(await schemaState(failing(database, 1))).toBe('good')
  }))

test('steps of an older release are found by their names, and an unknown one is of a newer release', () => {
  expect(Object.keys(migrationsNamed(['001-initial']))).toEqual(['001-initial'])
  expect(() => migrationsNamed(['001-initial', '999-later'])).toThrow('(999-later): install that one first')
})
