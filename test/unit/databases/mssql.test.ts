import { Connection, type Request } from 'tedious'
import { beforeEach, expect, test, vi } from 'vitest'
import { mssqlConfiguration, openMssql } from '../../../control-plane/src/databases/mssql.js'
import { gatherRows } from '../../../control-plane/src/databases/rows.js'

/** What the replaced driver does at a step: nothing is success. */
interface Steps {
  connect: Error | undefined
  begin: Error | undefined
  rollback: Error | undefined
  /** What the server does with a statement. */
  carryOut(request: Request): void
}

const TARGET = { host: 'db.example.com', port: null, database: null, user: null, password: 'p', tls: null }
const LIMITS = { connectMs: 5000, statementMs: 30_000, rows: 2, bytes: 10_000, connections: 1, idleMs: 60_000 }

let steps: Steps
let connections: Connection[]
/** What was done with connections, in order. */
let done: string[]

/** Says that a statement is over, as the driver does. */
const finish = (request: Request, error?: Error): void => {
  ;(request as unknown as { callback: (error: Error | undefined) => void }).callback(error)
}
const giveRow = (request: Request, name: string, value: unknown): void => {
  request.emit('row', [{ value, metadata: { colName: name, type: { name: 'VarChar' } } }])
}

/** No such server can be had here: what the driver sends to it is answered by the test. */
beforeEach(() => {
  connections = []
  done = []
  steps = { connect: undefined, begin: undefined, rollback: undefined, carryOut: (request) => finish(request) }
  const { prototype } = Connection
  vi.spyOn(prototype, 'connect').mockImplementation(function (this: Connection, told) {
    connections.push(this)
    queueMicrotask(() => told?.(steps.connect))
  })
  vi.spyOn(prototype, 'close').mockImplementation(function (this: Connection) {
    this.closed = true
    done.push('close')
  })
  vi.spyOn(prototype, 'beginTransaction').mockImplementation((told) => {
    done.push('begin')
    told(steps.begin)
  })
  vi.spyOn(prototype, 'rollbackTransaction').mockImplementation((told) => {
    done.push('rollback')
    told(steps.rollback)
  })
  vi.spyOn(prototype, 'execSql').mockImplementation((request) => {
    done.push(request.sqlTextOrProcedure ?? '')
    steps.carryOut(request)
  })
})

async function opened() {
  const errors: Error[] = []
  const engine = await openMssql(TARGET, LIMITS, (error) => errors.push(error))
  async function ask(text: string, x: unknown = null, signal = new AbortController().signal) {
    const rows = gatherRows(LIMITS)
    await engine.ask({ text, value: () => x, signal }, rows)
    return rows.answer()
  }
  return { engine, ask, errors }
}

test('a statement runs in a transaction that is taken back, and the next one uses its connection', async () => {
  const { engine, ask } = await opened()
  steps.carryOut = (request) => {
    giveRow(request, 'name', 'web')
    giveRow(request, 'name', 'db')
    finish(request)
  }
  const answer = { rows: [{ name: 'web' }, { name: 'db' }], truncated: false }
  expect(await ask('select 1')).toEqual(answer)
  expect(await ask('select 2')).toEqual(answer)
  expect(done).toEqual(['begin', 'select 1', 'rollback', 'begin', 'select 2', 'rollback'])
  expect(connections).toHaveLength(1)
  await engine.close()
  expect(done.at(-1)).toBe('close')
})

test('more rows than there is room for end the statement and its connection', async () => {
  const { ask } = await opened()
  steps.carryOut = (request) => {
    for (const name of ['a', 'b', 'c']) giveRow(request, 'name', name)
  }
  expect(await ask('select 1')).toEqual({ rows: [{ name: 'a' }, { name: 'b' }], truncated: true })
  expect(done).toEqual(['begin', 'select 1', 'close'])
})

test.each(['connect', 'begin', 'rollback'] as const)(
  'a failed %s fails the question, and its connection ends',
  async (step) => {
    const { ask } = await opened()
    steps[step] = new Error('the server says no')
    await expect(ask('select 1')).rejects.toThrow('the server says no')
    expect(done.filter((one) => one === 'close')).toHaveLength(1)
    expect(done.at(-1)).toBe('close')
    steps[step] = undefined
    expect(await ask('select 1')).toEqual({ rows: [], truncated: false })
    expect(connections).toHaveLength(2)
  },
)

test('who stops waiting is answered at once, and the connection ends', async () => {
  const { ask } = await opened()
  const stop = new AbortController()
  steps.carryOut = () => stop.abort()
  await expect(ask('select 1', null, stop.signal)).rejects.toThrow('nobody waits any more')
  expect(done).toEqual(['begin', 'select 1', 'close'])
})

test('a connection that the server ended is told, and is not used again', async () => {
  const { ask, errors } = await opened()
  await ask('select 1')
  const lost = new Error('the connection is lost')
  connections[0]?.emit('error', lost)
  expect(errors).toEqual([lost])
  for (const connection of connections) connection.closed = true
  await ask('select 2')
  expect(connections).toHaveLength(2)
})

test.each([
  [true, 'Bit'],
  ['4', 'NVarChar'],
  [1.5, 'Float'],
  [2 ** 31, 'BigInt'],
  [-(2 ** 31), 'Int'],
])('the value %j is sent beside the statement as %s', async (value, type) => {
  const { ask } = await opened()
  let sent: { name: string; value?: unknown; type: { name: string } }[] = []
  steps.carryOut = (request) => {
    sent = (request as unknown as { parameters: typeof sent }).parameters
    finish(request)
  }
  await ask('select $(x), $(x)', value)
  expect(done).toContain('select @p1, @p2')
  expect(sent.map((one) => [one.name, one.value, one.type.name])).toEqual([
    ['p1', value, type],
    ['p2', value, type],
  ])
})

test('a certificate is checked when TLS is asked for, and the statements can only read', () => {
  const { options } = mssqlConfiguration({ ...TARGET, tls: { ca: 'CA' } }, LIMITS)
  expect(options).toMatchObject({ encrypt: true, trustServerCertificate: false, readOnlyIntent: true })
  expect(options).toMatchObject({ cryptoCredentialsDetails: { ca: 'CA' } })
  expect(mssqlConfiguration(TARGET, LIMITS).options).toMatchObject({ encrypt: false })
})
