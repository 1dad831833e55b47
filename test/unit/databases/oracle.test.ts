import oracledb from 'oracledb'
import { beforeEach, expect, test, vi } from 'vitest'
import { openOracle, oracleConfiguration } from '../../../control-plane/src/databases/oracle.js'
import { gatherRows } from '../../../control-plane/src/databases/rows.js'

const TARGET = { host: 'db.example.com', port: null, database: 'cmdb', user: null, password: 'p', tls: null }
const LIMITS = { connectMs: 5000, statementMs: 30_000, rows: 450, bytes: 100_000, connections: 1, idleMs: 60_000 }

interface Told {
  readonly sql: string
  readonly values: unknown
}

let told: Told[]
/** What was done with the connection, in order. */
let done: string[]
/** What the database has for a question; null: it is no question. */
let stored: object[] | null
/** Called in the middle of the statement of a form. */
let meanwhile: () => Promise<void>
let connection: Record<string, unknown>

function resultOf(rows: readonly object[]) {
  const left = [...rows]
  return {
    getRows: (most: number) => {
      done.push('get rows')
      return Promise.resolve(left.splice(0, most))
    },
    close: () => {
      done.push('close result')
      return Promise.resolve()
    },
  }
}

/** No such server can be had here: what the driver sends to it is answered by the test. */
beforeEach(() => {
  told = []
  done = []
  stored = []
  meanwhile = () => Promise.resolve()
  const step = (name: string) => {
    done.push(name)
    return Promise.resolve()
  }
  connection = {
    async execute(sql: string, values?: unknown, options?: object) {
      done.push(sql)
      if (!options) return {}
      told.push({ sql, values })
      await meanwhile()
      return { resultSet: stored && resultOf(stored) }
    },
    rollback: () => step('rollback'),
    close: ({ drop }: { drop: boolean }) => step(drop ? 'drop' : 'give back'),
    break: () => step('break'),
  }
  const pool = {
    getConnection: () => Promise.resolve(connection),
    close: (seconds: number) => step(`close pool within ${seconds} s`),
  }
  vi.spyOn(oracledb, 'createPool').mockImplementation(() => Promise.resolve(pool) as never)
})

async function opened() {
  const engine = await openOracle(TARGET, LIMITS)
  async function ask(text: string, x: unknown = null, signal = new AbortController().signal) {
    const rows = gatherRows(LIMITS)
    await engine.ask({ text, value: () => x, signal }, rows)
    return rows.answer()
  }
  return { engine, ask }
}

const SESSION = [expect.stringContaining('set nls_date_format'), expect.stringContaining('set nls_timestamp_tz_format')]
const GOOD = ['get rows', 'close result', 'rollback', 'give back']

test('a statement runs in a transaction that can only read; the settings of a session are made once', async () => {
  const { engine, ask } = await opened()
  stored = [{ NAME: 'web' }]
  expect(await ask('select 1')).toEqual({ rows: [{ NAME: 'web' }], truncated: false })
  expect(done.splice(0)).toEqual([...SESSION, 'set transaction read only', 'select 1', ...GOOD])
  expect(connection.callTimeout).toBe(30_000)
  await ask('select 2')
  expect(done.splice(0)).toEqual(['set transaction read only', 'select 2', ...GOOD])
  await engine.close()
  expect(done).toEqual(['close pool within 5 s'])
})

test('an answer of many rows is read to its end', async () => {
  const { ask } = await opened()
  stored = Array.from({ length: 450 }, (_, n) => ({ N: n }))
  const { rows, truncated } = await ask('select 1')
  expect([rows.length, truncated]).toEqual([450, false])
})

test('more rows than there is room for end the connection', async () => {
  const { ask } = await opened()
  stored = Array.from({ length: 451 }, (_, n) => ({ N: n }))
  const { rows, truncated } = await ask('select 1')
  expect([rows.length, truncated]).toEqual([450, true])
  expect(done.at(-1)).toBe('drop')
  expect(done).not.toContain('rollback')
})

test('a statement that fails, or gives no rows, ends its connection', async () => {
  const { ask } = await opened()
  stored = null
  await expect(ask('begin null; end;')).rejects.toThrow('the statement gives no rows')
  expect(done.at(-1)).toBe('drop')
  meanwhile = () => Promise.reject(new Error('ORA-00942'))
  await expect(ask('select 1')).rejects.toThrow('ORA-00942')
  expect(done.at(-1)).toBe('drop')
  expect(done).not.toContain('rollback')
})

test('who stops waiting breaks the statement off, and the connection ends', async () => {
  const { ask } = await opened()
  const stop = new AbortController()
  connection.break = () => {
    done.push('break')
    return Promise.reject(new Error('too late'))
  }
  meanwhile = () => {
    stop.abort()
    return Promise.reject(new Error('ORA-01013: the user requested it'))
  }
  await expect(ask('select 1', null, stop.signal)).rejects.toThrow('ORA-01013')
  expect(done.slice(-2)).toEqual(['break', 'drop'])
})

test('values are sent beside the statement, and booleans as numbers', async () => {
  const { ask } = await opened()
  await ask('select $(x) from dual', [true, false, 'a', 1.5, null])
  expect(told).toMatchObject([{ sql: 'select :1, :2, :3, :4, :5 from dual', values: [1, 0, 'a', 1.5, null] }])
})

test.each([
  [{}, 'tcp://db.example.com:1521/cmdb'],
  [{ host: 'fe80::1', port: 99 }, 'tcp://[fe80::1]:99/cmdb'],
  [{ database: null, tls: { ca: 'CA' } }, 'tcps://db.example.com:2484'],
])('the server of %j is called %s, and its certificate is checked with TLS', (more, connectString) => {
  const configuration = oracleConfiguration({ ...TARGET, ...more }, LIMITS)
  const checked = connectString.startsWith('tcps') ? { walletContent: 'CA', sslServerDNMatch: true } : {}
  expect(configuration).toMatchObject({ connectString, ...checked })
})
