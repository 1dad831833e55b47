import type * as Driver from 'tedious'
import type { Connection, ConnectionConfiguration, Request } from 'tedious'
import { keepConnections } from './connection-keeper.js'
import type { AskLimits, Engine, RowTaker, Target } from './engine.js'
import { type BoundValue, type Statement, fillStatement } from './statement.js'

/** What the driver is told of a server. Exported for its test: no such server is at hand. */
export function mssqlConfiguration(target: Target, limits: AskLimits): ConnectionConfiguration {
  const { host, port, database, user, password, tls } = target
  return {
    server: host,
    authentication: { type: 'default', options: { userName: user ?? '', password } },
    options: {
      port: port ?? 1433,
      ...(database === null ? {} : { database }),
      appName: 'holdfast',
      // Without TLS only the login is encrypted, with whatever certificate the server makes for it.
      encrypt: tls !== null,
      trustServerCertificate: tls === null,
      ...(tls?.ca ? { cryptoCredentialsDetails: { ca: tls.ca } } : {}),
      connectTimeout: limits.connectMs,
      requestTimeout: limits.statementMs,
      cancelTimeout: limits.connectMs,
      // The escaping of names relies on it.
      enableQuotedIdentifier: true,
      readOnlyIntent: true,
      rowCollectionOnRequestCompletion: false,
      useUTC: true,
    },
  }
}

/**
 * Connections to a Microsoft SQL Server. The driver is loaded here, when the first form asks. This server has no
 * transaction that can only read: what a statement changes is taken back at its end.
 */
export function openMssql(target: Target, limits: AskLimits, onError: (error: Error) => void): Promise<Engine> {
  const connections = keepConnections<Connection>({
    async open() {
      const driver = await import('tedious')
      return connect(driver, mssqlConfiguration(target, limits), onError)
    },
    end: (connection) => connection.close(),
    isOpen: (connection) => !connection.closed,
    idleMs: limits.idleMs,
  })
  return Promise.resolve({
    async ask({ text, value, signal }, rows) {
      const statement = fillStatement(text, 'mssql', value)
      const driver = await import('tedious')
      await connections.use(async (connection) => {
        signal.throwIfAborted()
        await act((done) => connection.beginTransaction(done))
        if (!(await askWith(driver, connection, statement, rows, signal))) return false
        await act((done) => connection.rollbackTransaction(done))
        return true
      })
    },
    close: () => connections.close(),
  })
}

function connect(
  { Connection }: typeof Driver,
  configuration: ConnectionConfiguration,
  onError: (error: Error) => void,
): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const connection = new Connection(configuration)
    connection.on('error', onError)
    connection.connect((error) => {
      if (!error) return resolve(connection)
      connection.close()
      reject(error)
    })
  })
}

/** @returns false when there was no room for more rows; the connection is then of no more use */
function askWith(
  driver: typeof Driver,
  connection: Connection,
  statement: Statement,
  rows: RowTaker,
  signal: AbortSignal,
): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const request = new driver.Request(statement.sql, (error) => (error ? reject(error) : resolve(true)))
    statement.values.forEach((value, index) => bind(driver, request, `p${index + 1}`, value))
    request.on('row', (columns: readonly MssqlColumn[]) => {
      const row = Object.fromEntries(columns.map((column) => [column.metadata.colName, plainColumn(column)]))
      if (!rows.take(row)) resolve(false)
    })
    signal.addEventListener('abort', () => reject(new Error('nobody waits any more')))
    connection.execSql(request)
  })
}

/** A column of a row as the driver gives it. */
export interface MssqlColumn {
  readonly value: unknown
  readonly metadata: { readonly colName: string; readonly type: { readonly name: string } }
}

/** Dates and times as the texts that the database shows, large numbers as numbers where they are exact. */
export function plainColumn({ value, metadata }: MssqlColumn): unknown {
  if (value instanceof Date) {
    const text = value
      .toISOString()
      .replace('T', ' ')
      .replace(/\.000Z$|Z$/, '')
    const { name } = metadata.type
    if (name === 'Date') return text.slice(0, 10)
    if (name === 'Time') return text.slice(11)
    return name === 'DateTimeOffset' ? value.toISOString() : text
  }
  const isWhole = metadata.type.name === 'BigInt' || metadata.type.name === 'IntN'
  return isWhole && typeof value === 'string' && Number.isSafeInteger(Number(value)) ? Number(value) : value
}

function bind({ TYPES }: typeof Driver, request: Request, name: string, value: BoundValue): void {
  if (typeof value === 'boolean') return request.addParameter(name, TYPES.Bit, value)
  if (typeof value !== 'number') return request.addParameter(name, TYPES.NVarChar, value)
  if (!Number.isSafeInteger(value)) return request.addParameter(name, TYPES.Float, value)
  const isSmall = value >= -(2 ** 31) && value < 2 ** 31
  request.addParameter(name, isSmall ? TYPES.Int : TYPES.BigInt, value)
}

function act(begin: (done: (error: Error | null | undefined) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => begin((error) => (error ? reject(error) : resolve())))
}
