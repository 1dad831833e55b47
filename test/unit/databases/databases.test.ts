import oracledb from 'oracledb'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { createDatabases } from '../../../control-plane/src/databases/databases.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'

const CREDENTIAL: OpenCredential = {
  id: 1,
  name: 'cmdb',
  type: 'database',
  description: '',
  host: 'db.example.com',
  port: 1521,
  user: 'forms',
  password: 'canary',
  options: { db_type: 'oracle', db_name: 'cmdb' },
}

let known: Map<string, OpenCredential>
/** Whom the driver was told to connect to, one for each set of connections. */
let pools: string[]
/** Those that were closed. */
let closed: string[]
/** What the driver throws at a step; none by default. */
let fails: { pool?: unknown; connection?: unknown; close?: unknown }
let warned: object[]

/** The driver of Oracle is replaced: it is the one whose connections are not made before the first question. */
beforeEach(() => {
  known = new Map([['cmdb', CREDENTIAL]])
  pools = []
  closed = []
  fails = {}
  warned = []
  const connection = {
    execute: (_sql: string, _values?: unknown, options?: object) =>
      Promise.resolve(
        options ? { resultSet: { getRows: () => Promise.resolve([{ N: 1 }]), close: () => Promise.resolve() } } : {},
      ),
    rollback: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
  vi.spyOn(oracledb, 'createPool').mockImplementation(((told: { connectString: string; user: string }) => {
    if (fails.pool !== undefined) return Promise.reject(fails.pool)
    const place = `${told.user} at ${told.connectString}`
    pools.push(place)
    return Promise.resolve({
      getConnection: () =>
        fails.connection === undefined ? Promise.resolve(connection) : Promise.reject(fails.connection),
      close() {
        closed.push(place)
        return fails.close === undefined ? Promise.resolve() : Promise.reject(fails.close)
      },
    })
  }) as never)
})

function made(rows = 10) {
  const databases = createDatabases({
    credentials: { open: (name) => Promise.resolve(known.get(name) ?? null) },
    log: { warn: (fields) => warned.push(fields) },
    limits: { connectMs: 1000, statementMs: 1000, rows, bytes: 1000, connections: 1, idleMs: 1000 },
  })
  const ask = (config: unknown = 'cmdb') =>
    databases.ask({
      config,
      text: 'select 1',
      value: () => null,
      callers: createCallers('ann'),
      signal: new AbortController().signal,
    })
  return { databases, ask }
}

const OLD = 'forms at tcp://db.example.com:1521/cmdb'
const NEW = 'other at tcp://db.example.com:1521/cmdb'

describe('the connections of a credential', () => {
  test('are made once, and end when the credential was changed or the service stops', async () => {
    const { databases, ask } = made()
    await Promise.all([ask(), ask()])
    await ask()
    expect(pools).toEqual([OLD])
    expect(closed).toEqual([])
    known.set('cmdb', { ...CREDENTIAL, user: 'other' })
    await ask()
    expect(pools).toEqual([OLD, NEW])
    await expect.poll(() => closed).toEqual([OLD])
    await databases.close()
    expect(closed).toEqual([OLD, NEW])
    await expect(ask()).rejects.toThrow('the service is stopping')
    expect(warned).toEqual([])
  })

  test('are tried anew when they could not be made', async () => {
    const { databases, ask } = made()
    fails.pool = new Error('no such wallet')
    await expect(ask()).rejects.toThrow("the database 'cmdb' cannot be asked: no such wallet")
    delete fails.pool
    expect((await ask()).rows).toEqual([{ N: 1 }])
    await ask()
    expect(pools).toEqual([OLD])
    await databases.close()
  })

  test('that do not end in order are told in the log, and hold up nobody', async () => {
    const { databases, ask } = made()
    await ask()
    fails.close = new Error('still in use')
    await databases.close()
    expect(warned).toMatchObject([{ credential: 'cmdb', reason: 'still in use' }])
  })
})

test('the rows of several databases are one answer, which is cut when one of them has too many', async () => {
  known.set('other', { ...CREDENTIAL, name: 'other', user: 'other' })
  expect(await made().ask('cmdb, other')).toEqual({ rows: [{ N: 1 }, { N: 1 }], truncated: false })
  expect((await made(0).ask('cmdb, other')).truncated).toBe(true)
})

describe('the type of a database', () => {
  test.each([
    ['oracle', 'Oracle'],
    [undefined, 'ORACLE'],
    ['oracle', null],
  ] as const)('that the credential calls %j and the form %j is found', async (db_type, type) => {
    known.set('cmdb', { ...CREDENTIAL, options: { ...(db_type ? { db_type } : {}), db_name: 'cmdb' } })
    expect((await made().ask({ name: 'cmdb', type })).rows).toEqual([{ N: 1 }])
  })

  test.each([
    ['mariadb', "the database 'cmdb' is of type oracle, and the form says mariadb"],
    ['sqlite', 'databases of type sqlite cannot be asked; postgres, mysql, mssql, oracle, mongodb can'],
    // No name of a property of every object.
    ['constructor', /^databases of type constructor cannot be asked/],
  ])('that the form says is refused when it is not that of the credential: %s', async (type, reason) => {
    await expect(made().ask({ name: 'cmdb', type })).rejects.toThrow(reason)
  })

  test('must be said by one of them', async () => {
    known.set('cmdb', { ...CREDENTIAL, options: {} })
    await expect(made().ask()).rejects.toThrow("the credential 'cmdb' does not say which type its database has")
  })
})

describe('a credential', () => {
  test.each(['database', 'userpass'] as const)('of type %s opens a database', async (type) => {
    known.set('cmdb', { ...CREDENTIAL, type })
    expect((await made().ask()).rows).toEqual([{ N: 1 }])
  })

  test.each([
    [{ type: 'token' }, "the credential 'cmdb' is of type token and opens no database"],
    [{ type: 'ssh' }, "the credential 'cmdb' is of type ssh and opens no database"],
    [{ type: 'certificate' }, "the credential 'cmdb' is of type certificate, which opens no database of type oracle"],
    [{ host: null }, "the credential 'cmdb' has no host"],
  ] as const)('with %j is refused before anything is connected', async (more, reason) => {
    known.set('cmdb', { ...CREDENTIAL, ...more })
    await expect(made().ask()).rejects.toThrow(reason)
    expect(pools).toEqual([])
  })

  test('that asks for TLS gets it', async () => {
    known.set('cmdb', { ...CREDENTIAL, options: { ...CREDENTIAL.options, secure: true } })
    await made().ask()
    expect(pools).toEqual(['forms at tcps://db.example.com:1521/cmdb'])
  })

  test('that cannot be opened is named, with the reason', async () => {
    const databases = createDatabases({
      credentials: { open: () => Promise.reject(new Error('the vault is sealed')) },
      log: { warn: () => undefined },
      limits: { connectMs: 1000, statementMs: 1000, rows: 1, bytes: 1000, connections: 1, idleMs: 1000 },
    })
    const asked = databases.ask({
      config: 'cmdb',
      text: '',
      value: () => null,
      callers: createCallers('ann'),
      signal: new AbortController().signal,
    })
    await expect(asked).rejects.toThrow("the credential 'cmdb' cannot be opened: the vault is sealed")
  })
})

test.each([
  [new Error('away'), 'away'],
  [new Error('login of forms with canary\n  was refused'), 'login of forms with ******** was refused'],
  [new AggregateError([new Error('one'), new Error('two')], ''), 'one; two'],
  [new Error('', { cause: 'x' }), 'the driver says no reason'],
  [new Error('no session', { cause: new Error('nobody listens') }), 'no session (nobody listens)'],
])('the words of a driver stand in the problem, without a password: %s', async (error, reason) => {
  fails.connection = error
  await expect(made().ask()).rejects.toThrow(
    new RegExp(`^the database 'cmdb' cannot be asked: ${reason.replace(/[()*]/g, '\\$&')}$`),
  )
})
