import { existsSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { insertUser } from '../../control-plane/src/store/accounts/users.js'
import type {
  CopiedRow,
  DatabaseFilling,
  DatabaseSnapshot,
} from '../../control-plane/src/store/engine/copied-database.js'
import { fillDatabase, openSnapshot } from '../../control-plane/src/store/open-copy.js'
import { type DatabasePlace, openStore, openStoreBeside } from '../../control-plane/src/store/open-store.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { putJob } from '../api/job-rows.js'
import { createTestDatabase } from '../support/test-database.js'
import { KINDS } from './nodes.js'

type Kind = DatabasePlace['kind']

/** A place for a database that has nothing yet. */
async function newPlace(kind: Kind): Promise<{ place: DatabasePlace; folder: string; url: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-copies-'))
  const { place, url, remove } = await createTestDatabase(folder, kind)
  onTestFinished(async () => {
    await remove()
    rmSync(folder, { recursive: true })
  })
  return { place, folder, url }
}

async function onStore<T>(place: DatabasePlace, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(place)
  try {
    return await work(store as Store)
  } finally {
    await store.close()
  }
}

const account = (username: string) => ({
  type: 'local' as const,
  passwordHash: null,
  email: null,
  groups: [],
  enabled: true,
  username,
  createdAt: 1,
})
const addUser = (store: Store, name: string) =>
  store.write('test', async (queries) => (await insertUser(queries, account(name)))?.id)
const usersOf = (place: DatabasePlace) =>
  onStore(place, async ({ read }) =>
    (await read.selectFrom('user').select('username').orderBy('id').execute()).map(({ username }) => username),
  )
const run = (store: Store, text: string) => store.write('test', (queries) => sql.raw(text).execute(queries))

async function rowsOf(pages: AsyncIterable<readonly CopiedRow[]>): Promise<CopiedRow[]> {
  const rows: CopiedRow[] = []
  for await (const page of pages) rows.push(...page)
  return rows
}

/** Who has the database open: files of this process, or connections of the server. */
async function usersOfDatabase({ place, folder }: { place: DatabasePlace; folder: string }): Promise<number> {
  if (place.kind === 'postgres') {
    return onStore(place, async ({ read }) => {
      const { rows } = await sql<{ pids: number }>`select count(*)::int as pids from pg_stat_activity
        where datname = current_database() and state like 'idle in transaction%'`.execute(read)
      return rows[0]?.pids ?? 0
    })
  }
  return readdirSync('/proc/self/fd').filter((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`).startsWith(folder)
    } catch {
      // Closed in the meantime.
      return false
    }
  }).length
}

describe.each(KINDS)('a snapshot: %s', (kind) => {
  test('has the tables behind those that they refer to, the steps that made them, and the highest numbers', async () => {
    const at = await newPlace(kind)
    const snapshot = await onStore(at.place, async (store) => {
      await addUser(store, 'ann')
      await addUser(store, 'bob')
      await run(store, `delete from "user" where username = 'bob'`)
      return openSnapshot(at.place)
    })
    const { tables } = snapshot
    for (const [table, other] of [
      ['session', 'user'],
      ['job_file', 'upload'],
      ['job_file', 'job'],
      ['sequence_node', 'job_sequence'],
      ['orphan', 'runner'],
    ] as const) {
      expect([table, tables.indexOf(table) > tables.indexOf(other), tables.includes(other)]).toEqual([
        table,
        true,
        true,
      ])
    }
    expect(tables.filter((name) => /^(kysely|sqlite)_/.test(name))).toEqual([])
    expect(snapshot.steps.at(0)).toBe('001-initial')
    expect(snapshot.steps).toEqual(snapshot.steps.toSorted())
    expect(snapshot.sequences['user']).toBe(2)
    expect(snapshot.sequences['job'] ?? 0).toBe(0)
    expect((await rowsOf(snapshot.rows('user'))).map((row) => row['username'])).toEqual(['ann'])
    await snapshot.close()
    expect(await usersOfDatabase(at)).toBe(0)
  })

  test('is one state: what is written afterwards is not in it', async () => {
    const { place } = await newPlace(kind)
    await onStore(place, async (store) => {
      await addUser(store, 'ann')
      const snapshot = await openSnapshot(place)
      await addUser(store, 'bob')
      expect((await rowsOf(snapshot.rows('user'))).map((row) => row['username'])).toEqual(['ann'])
      await addUser(store, 'cleo')
      expect((await rowsOf(snapshot.rows('user'))).map((row) => row['username'])).toEqual(['ann'])
      await snapshot.close()
    })
    expect(await usersOf(place)).toEqual(['ann', 'bob', 'cleo'])
  })

  test('of a database without tables is refused, and nothing stays open', async () => {
    const at = await newPlace(kind)
    if (at.place.kind === 'sqlite') writeFileSync(at.place.path, '')
    await expect(openSnapshot(at.place)).rejects.toThrow(/kysely_migration|sqlite_sequence/)
    expect(await usersOfDatabase(at)).toBe(0)
  })
})

/** Everything of one database in another one. */
async function copy(snapshot: DatabaseSnapshot, filling: DatabaseFilling): Promise<void> {
  for (const table of snapshot.tables) {
    for await (const rows of snapshot.rows(table)) await filling.insert(table, rows)
  }
}

/** A snapshot of a database with a user and a job. */
let snapshot: DatabaseSnapshot

beforeAll(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-copies-'))
  const place = { kind: 'sqlite', path: join(folder, 'source.db') } as const
  await onStore(place, async (store) => {
    await addUser(store, 'ann')
    await putJob({ store })
  })
  snapshot = await openSnapshot(place)
  return async () => {
    await snapshot.close()
    rmSync(folder, { recursive: true })
  }
})

describe.each(KINDS)('a database that is filled from a copy: %s', (kind) => {
  test('has the same rows, and nobody sees them before it is finished', async () => {
    const at = await newPlace(kind)
    const filling = await fillDatabase(at.place, snapshot.steps, null)
    await copy(snapshot, filling)
    if (at.place.kind === 'sqlite') expect(existsSync(at.place.path)).toBe(false)
    for (const table of snapshot.tables) {
      expect(new Set(await rowsOf(filling.rows(table)))).toEqual(new Set(await rowsOf(snapshot.rows(table))))
    }
    await filling.finish(snapshot.sequences)
    expect(await usersOf(at.place)).toEqual(['ann'])
    if (at.place.kind === 'sqlite') {
      expect(readdirSync(at.folder)).toEqual(['holdfast.db'])
      expect(statSync(at.place.path).mode & 0o777).toBe(0o600)
    }
    expect(await usersOfDatabase(at)).toBe(0)
  })

  test('goes on behind the highest numbers of the copy', async () => {
    for (const last of [1, 50]) {
      const { place } = await newPlace(kind)
      const filling = await fillDatabase(place, snapshot.steps, null)
      await copy(snapshot, filling)
      await filling.finish({ user: last, job: 1, runner: 0, credential: 7 })
      await onStore(place, async (store) => {
        expect(await addUser(store, 'bob')).toBe(last + 1)
        expect(await putJob({ store })).toBe(2)
        await run(
          store,
          `insert into credential (name, type, description, secret, created_at, updated_at) values ('x', 'x', 'x', 'x', 1, 1)`,
        )
        expect(await store.read.selectFrom('credential').select('id').execute()).toEqual([{ id: 8 }])
      })
    }
  })

  test('is brought up to date when the copy is of the first release', async () => {
    const { place } = await newPlace(kind)
    const filling = await fillDatabase(place, ['001-initial'], null)
    await filling.insert('user', [
      { id: 4, username: 'ann', username_key: 'ann', type: 'local', groups: '[]', enabled: 1, created_at: 1 },
    ])
    await filling.finish({ user: 4 })
    const store = await openStoreBeside(place, null)
    expect(await store.read.selectFrom('user').select(['id', 'name_had_by']).execute()).toEqual([
      { id: 4, name_had_by: null },
    ])
    await store.close()
  })

  test('is refused when the copy is of a newer release, and what is there stays as it is', async () => {
    const at = await newPlace(kind)
    await onStore(at.place, (store) => addUser(store, 'old'))
    const before = readdirSync(at.folder)
    const steps = [...snapshot.steps, '999-later']
    await expect(fillDatabase(at.place, steps, join(at.folder, 'kept.db'))).rejects.toMatchObject({
      code: 'newer_tables',
      message: expect.stringContaining('999-later') as string,
    })
    expect(await usersOfDatabase(at)).toBe(0)
    expect(readdirSync(at.folder)).toEqual(before)
    expect(await usersOf(at.place)).toEqual(['old'])
  })

  test('takes any number of rows at once, and a value that a row does not have is none', async () => {
    const { steps } = snapshot
    const { place } = await newPlace(kind)
    const filling = await fillDatabase(place, steps, null)
    const rows = Array.from({ length: 2001 }, (_, index) => ({
      name: `lock ${String(index).padStart(4, '0')}`,
      holder: 'local/ann',
      taken_at: index,
      touched_at: 1,
      holder_id: index === 0 ? 1 : null,
    }))
    const [first, second, ...others] = rows
    await filling.insert('lock', [first, { ...second, holder_id: undefined }, ...others] as never)
    await filling.insert('lock', [])
    await filling.finish({})
    await onStore(place, async ({ read }) => {
      expect(await read.selectFrom('lock').selectAll().orderBy('name').execute()).toEqual(rows)
    })
  })

  test('that is given up leaves nothing', async () => {
    const at = await newPlace(kind)
    const filling = await fillDatabase(at.place, snapshot.steps, null)
    await copy(snapshot, filling)
    await filling.abandon()
    // The server counts a connection for a moment after its end.
    await expect.poll(() => usersOfDatabase(at)).toBe(0)
    if (at.place.kind === 'sqlite') expect(readdirSync(at.folder)).toEqual([])
    else expect(await usersOf(at.place)).toEqual([])
  })

  test('is refused where there is one with an account, or with a job', async () => {
    const { steps } = snapshot
    const at = await newPlace(kind)
    await onStore(at.place, (store) => addUser(store, 'old'))
    await expect(fillDatabase(at.place, steps, null)).rejects.toMatchObject({ code: 'database_not_empty' })
    await onStore(at.place, async (store) => {
      await putJob({ store })
      await run(store, 'delete from "user"')
    })
    await expect(fillDatabase(at.place, steps, null)).rejects.toMatchObject({ code: 'database_not_empty' })
    expect(await usersOfDatabase(at)).toBe(0)
  })

  test('takes the place of one that nobody used yet', async () => {
    const at = await newPlace(kind)
    await onStore(at.place, (store) =>
      run(store, `insert into lock (name, holder, taken_at, touched_at) values ('x', 'x', 1, 1)`),
    )
    const filling = await fillDatabase(at.place, snapshot.steps, null)
    await copy(snapshot, filling)
    await filling.finish(snapshot.sequences)
    expect(await usersOf(at.place)).toEqual(['ann'])
    await onStore(at.place, async ({ read }) => {
      expect(await read.selectFrom('lock').selectAll().execute()).toEqual([])
    })
  })

  test('replaces one that is in use, which SQLite keeps', async () => {
    const at = await newPlace(kind)
    await onStore(at.place, (store) => addUser(store, 'old'))
    const kept = join(at.folder, 'kept.db')
    const filling = await fillDatabase(at.place, snapshot.steps, kept)
    await copy(snapshot, filling)
    await filling.finish(snapshot.sequences)
    expect(await usersOf(at.place)).toEqual(['ann'])
    if (at.place.kind === 'sqlite') expect(await usersOf({ kind: 'sqlite', path: kept })).toEqual(['old'])
  })
})

test('the log of a file that is put aside goes with it, and none of it stays beside the new one', async () => {
  const { place, folder } = await newPlace('sqlite')
  if (place.kind !== 'sqlite') throw new Error('it is a file')
  writeFileSync(place.path, '')
  for (const end of ['-wal', '-shm']) writeFileSync(place.path + end, end)
  for (const end of ['', '-wal', '-shm', '-journal'])
    writeFileSync(`${place.path}.restoring${end}`, 'of an earlier try')
  const filling = await fillDatabase(place, snapshot.steps, join(folder, 'kept.db'))
  await filling.finish({})
  expect(readdirSync(folder).toSorted()).toEqual(['holdfast.db', 'kept.db', 'kept.db-shm', 'kept.db-wal'])
})

test('tables of other programs in the same PostgreSQL database stay as they are', async () => {
  const { place } = await newPlace('postgres')
  if (place.kind !== 'postgres') throw new Error('it is a server')
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: place.url })
  await client.connect()
  try {
    await client.query(`create table "their ""table" as select 1 as one`)
    const filling = await fillDatabase(place, ['001-initial'], null)
    await filling.abandon()
    const { rows } = await client.query(`select one from "their ""table"`)
    expect(rows).toEqual([{ one: 1 }])
  } finally {
    await client.end()
  }
})
