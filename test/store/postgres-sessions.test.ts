import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type ConnectionUse,
  createConnections,
  readingPool,
  sendQuery,
} from '../../control-plane/src/store/postgres/postgres-connections.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'

let database: TestDatabase
const pools: pg.Pool[] = []

beforeEach(async () => {
  database = await createTestDatabase('', 'postgres')
})
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()))
  await database.remove()
})

function connections(use: ConnectionUse): pg.Pool {
  const pool = createConnections({ connectionString: database.url }, use, 1)
  pools.push(pool)
  return pool
}

/** Ends the connections of the product, as a server does that is stopped. */
async function cutAll(): Promise<void> {
  const admin = new pg.Client({ connectionString: database.url })
  await admin.connect()
  const { rowCount } = await admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'holdfast'`,
  )
  await admin.end()
  expect(rowCount).toBe(1)
}

describe('the sessions of the product', () => {
  const SETTINGS = [
    'statement_timeout',
    'lock_timeout',
    'idle_in_transaction_session_timeout',
    'default_transaction_isolation',
    'synchronous_commit',
    'enable_seqscan',
  ] as const

  test.each<[ConnectionUse, readonly string[]]>([
    ['read', ['25s', '5s', '10s', 'read committed', 'on', 'on']],
    ['write', ['25s', '5s', '10s', 'read committed', 'on', 'off']],
    ['migrate', ['0', '0', '0', 'serializable', 'off', 'on']],
  ])('have their limits, whatever the server says: %s', async (use, expected) => {
    const admin = new pg.Client({ connectionString: database.url })
    await admin.connect()
    const name = new URL(database.url).pathname.slice(1)
    await admin.query(`alter database ${name} set synchronous_commit = off`)
    await admin.query(`alter database ${name} set default_transaction_isolation = serializable`)
    await admin.end()
    const columns = SETTINGS.map((setting) => `current_setting('${setting}') as ${setting}`).join(', ')
    const { rows } = await connections(use).query<Record<string, string>>(`select ${columns}`)
    expect(SETTINGS.map((setting) => rows[0]?.[setting])).toEqual(expected)
  })

  test('give whole numbers as numbers, and texts and bytes as they are', async () => {
    const { rows } = await connections('read').query(
      `select 9007199254740991::int8 as big, 7::int4 as small, 'x' as text, '\\x00ff'::bytea as bytes, null as nothing`,
    )
    expect(rows).toEqual([
      { big: Number.MAX_SAFE_INTEGER, small: 7, text: 'x', bytes: Buffer.from([0, 255]), nothing: null },
    ])
  })

  test('that are cut while nobody uses them are replaced', async () => {
    const pool = connections('read')
    await pool.query('select 1')
    await cutAll()
    await expect.poll(() => pool.totalCount).toBe(0)
    expect((await pool.query('select 2 as two')).rows).toEqual([{ two: 2 }])
  })
})

describe('the connections for reads', () => {
  const ask = async (pool: ReturnType<typeof readingPool>, text: string) => {
    const client = await pool.connect()
    try {
      return (await client.query(text, [])).rows
    } finally {
      client.release()
    }
  }

  test('go on after a wrong statement, whose error stays as it is', async () => {
    const pool = connections('read')
    const reading = readingPool(pool)
    const pidOf = () => ask(reading, 'select pg_backend_pid() as pid')
    const before = await pidOf()
    await expect(ask(reading, 'select nothing_there')).rejects.toMatchObject({ code: '42703' })
    expect(await pidOf()).toEqual(before)
  })

  test('are replaced when they were cut during a statement, whose error says that the database is away', async () => {
    const reading = readingPool(connections('read'))
    const pidOf = () => ask(reading, 'select pg_backend_pid() as pid')
    const before = await pidOf()
    await expect(ask(reading, 'select pg_terminate_backend(pg_backend_pid())')).rejects.toMatchObject({
      code: 'database_unavailable',
      message: expect.stringMatching(/^the database cannot be read now: /) as string,
    })
    expect(await pidOf()).not.toEqual(before)
  })

  test('that cannot be made say that the database is away', async () => {
    const pool = createConnections({ host: '127.0.0.1', port: 1, database: 'x', user: 'x' }, 'read', 1)
    pools.push(pool)
    await expect(readingPool(pool).connect()).rejects.toMatchObject({ code: 'database_unavailable' })
  })
})

test('texts that a server cannot store lose the sign that it cannot, also in lists; nothing else changes', async () => {
  const client = await connections('write').connect()
  const { rows } = await sendQuery(
    client,
    'select $1::text as text, $2::text[] as list, $3::bytea as bytes, $4::int as number',
    ['a\0b', ['c\0', 'd'], Buffer.from([0, 1]), 5],
  )
  client.release()
  expect(rows).toEqual([{ text: 'a\uFFFDb', list: ['c\uFFFD', 'd'], bytes: Buffer.from([0, 1]), number: 5 }])
})
