import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import { type DatabasePlace, openStore } from '../../control-plane/src/store/open-store.js'
import type { Store } from '../../control-plane/src/store/store.js'

/** A database of a test's own. */
export interface TestDatabase {
  readonly place: DatabasePlace
  /** What DATABASE_URL says of it. */
  readonly url: string
  /** To be called when nobody uses it any more. A file goes with its folder. */
  remove(): Promise<void>
}

/** What `HOLDFAST_TEST_DATABASE=postgres` asks for: the tests that say nothing else run on PostgreSQL. */
export const USUAL_DATABASE = process.env.HOLDFAST_TEST_DATABASE === 'postgres' ? 'postgres' : 'sqlite'

/** True where the run is on PostgreSQL: for `test.skipIf` of the tests that are about the file of SQLite. */
export const IS_ON_POSTGRES = USUAL_DATABASE === 'postgres'

/** Every value of every row, as one text: to look for what must not be stored. */
export async function everythingStored({ read }: Store): Promise<string> {
  const values: string[] = []
  for (const { name } of await read.introspection.getTables()) {
    const { rows } = await sql<Record<string, unknown>>`select * from ${sql.table(name)}`.execute(read)
    for (const value of rows.flatMap((row) => Object.values(row))) {
      values.push(Buffer.isBuffer(value) ? value.toString('latin1') : String(value))
    }
  }
  return values.join('\n')
}

/** @param folder where a file is put */
export async function createTestDatabase(
  folder: string,
  kind: DatabasePlace['kind'] = USUAL_DATABASE,
): Promise<TestDatabase> {
  if (kind === 'postgres') return createPostgresDatabase()
  const path = join(folder, 'holdfast.db')
  return { place: { kind: 'sqlite', path }, url: `sqlite:${path}`, remove: () => Promise.resolve() }
}

/** A store in a database of its own; the database goes when it is closed. */
export async function openTestStore(folder: string, kind?: DatabasePlace['kind']): Promise<Store> {
  const database = await createTestDatabase(folder, kind)
  const store = await openStore(database.place)
  return {
    ...store,
    async close() {
      await store.close()
      await database.remove()
    },
  } as Store
}

async function createPostgresDatabase(): Promise<TestDatabase> {
  const server = process.env.HOLDFAST_TEST_POSTGRES ?? (await serverOfRun())
  const name = `test_${randomBytes(8).toString('hex')}`
  await asOwner(server, `create database ${name}`)
  const url = `${server}${name}`
  return {
    place: { kind: 'postgres', url },
    url,
    remove: () => asOwner(server, `drop database ${name} with (force)`),
  }
}

/** The one server of a run of tests. Programs that are no tests start one and say where it is. */
async function serverOfRun(): Promise<string> {
  const { inject } = await import('vitest')
  const answer = await fetch(inject('postgresKeeper'))
  const server = await answer.text()
  if (!answer.ok) throw new Error(server)
  return server
}

async function asOwner(server: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${server}postgres` })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
