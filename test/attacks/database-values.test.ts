import fc from 'fast-check'
import mysql from 'mysql2'
import pg from 'pg'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../control-plane/src/credentials/stored/credential.js'
import { createDatabases } from '../../control-plane/src/databases/databases.js'
import { createCallers } from '../../control-plane/src/time/callers.js'
import type { Databases } from '../../control-plane/src/databases/query-type.js'
import { EVIL_PAYLOADS as PAYLOADS, EVIL_PIECES as PIECES, evilText as evil } from '../support/evil-texts.js'
import { type MariadbServer, startMariadb } from '../support/mariadb.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

const TABLE = [
  'create table vm (name varchar(200), cpus int, big bigint, made timestamp null)',
  "insert into vm values ('web', 4, 9007199254740993, '2026-01-02 03:04:05'), ('db', 8, 7, null)",
]
const PASSWORD = 'canary-of-databases'

let mariadb: MariadbServer
let postgres: TestDatabase
let databases: Databases
const known = new Map<string, OpenCredential>()

beforeAll(async () => {
  ;[mariadb, postgres] = await Promise.all([startMariadb(), createTestDatabase(tmpdir(), 'postgres')])
  const url = new URL(postgres.url)
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  for (const sql of TABLE) await client.query(sql)
  await client.end()
  await askMariadb(['create database forms', 'use forms', ...TABLE, `set password = password('${PASSWORD}')`])
  add('pg', { host: url.hostname, port: Number(url.port), user: url.username, password: url.password }, 'postgres')
  add('maria', { host: '127.0.0.1', port: mariadb.port, user: 'root', password: PASSWORD }, 'mysql')
  databases = createDatabases({
    credentials: { open: (name) => Promise.resolve(known.get(name) ?? null) },
    log: { warn: () => undefined },
    limits: { connectMs: 30_000, statementMs: 60_000, rows: 50, bytes: 100_000, connections: 2, idleMs: 30_000 },
  })
})

afterAll(async () => {
  await databases.close()
  await Promise.all([mariadb.close(), postgres.remove()])
})

function add(
  name: string,
  login: Pick<OpenCredential, 'host' | 'port' | 'user' | 'password'>,
  db_type: 'postgres' | 'mysql',
): void {
  const db_name = db_type === 'postgres' ? new URL(postgres.url).pathname.slice(1) : 'forms'
  known.set(name, { id: 1, name, type: 'database', description: '', ...login, options: { db_type, db_name } })
}

async function askMariadb(statements: readonly string[]): Promise<void> {
  const connection = mysql.createConnection({ host: '127.0.0.1', port: mariadb.port, user: 'root' }).promise()
  for (const sql of statements) await connection.query(sql)
  await connection.end()
}

const ask = (config: unknown, text: string, values: Record<string, unknown> = {}) =>
  databases.ask({
    config,
    text,
    value: (name) => values[name],
    callers: createCallers('ann'),
    signal: new AbortController().signal,
  })
const rowsOf = async (...given: Parameters<typeof ask>) => (await ask(...given)).rows

/** Places of a placeholder: a value that is put there is read back unchanged, whatever it is. */
const PLACES: Record<string, string[]> = {
  pg: [
    'select $(x)::text as v',
    "select '$(x)' as v",
    "select E'$(x)' as v",
    "select E'' \n '$(x)' as v",
    "select '$(x)' as v, '-- ' || '/*' as \"a'b\" -- $(x)",
    "select /* ' /* $(x) */ \" */ '$(x)' as v",
    "select $q$ ' $q$ as w, '$(x)' as v",
  ],
  maria: [
    'select $(x) as v',
    "select '$(x)' as v",
    'select "$(x)" as v',
    "select '$(x)' as v, '\\'' as w # $(x)",
    "select 'it''s' as w, '$(x)' as v -- $(x)",
    "select /* ' $(x) */ '$(x)' as v",
  ],
}

/** What people type goes into statements of real databases. fast-check prints seed and path of a failure; `fc.assert(…, { seed, path })` plays it again. */
describe.each(['pg', 'maria'])('on %s', (name) => {
  test('no value gets out of the place in the form', async () => {
    for (const text of PLACES[name] ?? []) {
      await fc.assert(
        fc.asyncProperty(evil, async (x) => {
          const [row, ...more] = await rowsOf(name, text, { x })
          expect([row?.v, more]).toEqual([x, []])
        }),
        { numRuns: 60, examples: PAYLOADS.map((payload) => [payload]) },
      )
    }
    expect(await rowsOf(name, 'select count(*) as n from vm')).toEqual([{ n: 2 }])
  })

  test('no value gets out of the name in the form', async () => {
    const quote = name === 'pg' ? '"' : '`'
    const pieces = fc.array(fc.constantFrom(...PIECES.filter((piece) => piece !== '🙂')), { maxLength: 15 })
    await fc.assert(
      fc.asyncProperty(pieces, async (all) => {
        const x = all.join('')
        const [row] = await rowsOf(name, `select 1 as ${quote}a$(x)z${quote}`, { x })
        expect(row).toEqual({ [`a${x}z`]: 1 })
      }),
      { numRuns: 60 },
    )
  })

  test('values are bound: texts, numbers, null, and lists', async () => {
    const found = (where: string, x: unknown) => rowsOf(name, `select name from vm where ${where} order by cpus`, { x })
    expect(await found('name = $(x)', 'web')).toEqual([{ name: 'web' }])
    expect(await found('cpus > $(x)', 5)).toEqual([{ name: 'db' }])
    expect(await found('cpus = $(x)', '4')).toEqual([{ name: 'web' }])
    expect(await found('name in ($(x))', ['web', 'db'])).toEqual([{ name: 'web' }, { name: 'db' }])
    expect(await found('name in ($(x))', [])).toEqual([])
    expect(await found('name = $(x)', null)).toEqual([])
    expect(await found("name like '%$(x)'", 'b')).toEqual([{ name: 'web' }, { name: 'db' }])
    expect(await rowsOf(name, 'select name from vm order by cpus limit $(x)', { x: 1 })).toEqual([{ name: 'web' }])
  })

  test('large numbers and times stay exact', async () => {
    const [row] = await rowsOf(name, "select big, made from vm where name = 'web'")
    expect(row).toEqual({ big: '9007199254740993', made: '2026-01-02 03:04:05' })
  })

  test('nothing can be written, and a second statement is refused', async () => {
    await expect(ask(name, "insert into vm values ('new', 1, 1, null)")).rejects.toThrow(/read.only/i)
    await expect(ask(name, 'select 1; select 2')).rejects.toThrow(/cannot be asked/)
    expect(await rowsOf(name, 'select count(*) as n from vm')).toEqual([{ n: 2 }])
  })

  test('an answer ends at the limit of rows and at the limit of bytes', async () => {
    const many = 'with recursive c(n) as (select 1 union all select n + 1 from c where n < 500) select n from c'
    const answer = await ask(name, many)
    expect([answer.rows.length, answer.truncated]).toEqual([50, true])
    const wide = await ask(name, `select repeat('a', 90000) as t from vm`)
    expect([wide.rows.length, wide.truncated]).toEqual([1, true])
  })

  test('who stops waiting while a statement runs is answered at once, and the next one gets its turn', async () => {
    const stop = new AbortController()
    const slow = name === 'pg' ? 'select pg_sleep(50)' : 'select sleep(50)'
    const running =
      name === 'pg'
        ? "select 1 as n from pg_stat_activity where query like 'select pg_sleep%' and state = 'active'"
        : "select 1 as n from information_schema.processlist where info like 'select sleep%'"
    const asked = databases.ask({
      config: name,
      text: slow,
      value: () => null,
      callers: createCallers('bob'),
      signal: stop.signal,
    })
    const refused = expect(asked).rejects.toThrow(/cannot be asked/)
    await waitFor('the statement to run', async () => (await rowsOf(name, running)).length > 0)
    stop.abort()
    await refused
    expect(await rowsOf(name, 'select 1 as n')).toEqual([{ n: 1 }])
  })
})

test('several names give the rows of all databases', async () => {
  const text = "select name from vm where name = 'web'"
  const both = [{ name: 'web' }, { name: 'web' }]
  expect(await rowsOf('pg, maria', text)).toEqual(both)
  expect(await rowsOf([{ name: 'pg', type: 'postgres' }, 'maria'], text)).toEqual(both)
})

test('problems name the mistake, and no password', async () => {
  const wrong = { ...known.get('maria'), name: 'wrong', password: 'canary-wrong' } as OpenCredential
  known.set('wrong', wrong)
  known.set('token', { ...wrong, name: 'token', type: 'token' })
  known.set('away', { ...wrong, name: 'away', port: 1 })
  await expect(ask('none', 'select 1')).rejects.toThrow("there is no credential 'none'")
  await expect(ask('token', 'select 1')).rejects.toThrow('of type token')
  await expect(ask({ name: 'pg', type: 'mysql' }, 'select 1')).rejects.toThrow('is of type postgres')
  await expect(ask({ name: 'pg', type: 'dbase' }, 'select 1')).rejects.toThrow('type dbase cannot be asked')
  await expect(ask(5, 'select 1')).rejects.toThrow('dbConfig must be')
  await expect(ask('away', 'select 1')).rejects.toThrow(/'away' cannot be asked: .*ECONNREFUSED/)
  await expect(ask('wrong', 'select 1')).rejects.toThrow(/Access denied(?!.*canary)/)
  await expect(ask('pg', 'select $(x)', { x: 'a\0b' })).rejects.toThrow('NUL')
})
