import { connect as connectSocket, isIP } from 'node:net'
import type { Connection, Pool, PoolConnection } from 'mysql2'
import { type AskLimits, type Engine, type DatabaseTls, type Target, tlsOptions } from './engine.js'
import { type BoundValue, fillStatement } from './statement.js'

/** Connections to a MySQL or MariaDB server. The driver is loaded here, when the first form asks. */
export async function openMysql(target: Target, limits: AskLimits): Promise<Engine> {
  const { default: mysql } = await import('mysql2')
  const pool = mysql.createPool({
    host: target.host,
    port: target.port ?? 3306,
    ...(target.database === null ? {} : { database: target.database }),
    ...(target.user === null ? {} : { user: target.user }),
    password: target.password,
    ...(target.tls ? tlsTo(target, target.tls) : {}),
    connectionLimit: limits.connections,
    maxIdle: 1,
    idleTimeout: limits.idleMs,
    connectTimeout: limits.connectMs,
    // The escaping of texts relies on it.
    charset: 'utf8mb4',
    multipleStatements: false,
    dateStrings: true,
    supportBigNumbers: true,
  })
  const isReady = new WeakSet<Connection>()

  /** Settings of a session, once. @throws what the server says */
  async function prepare(connection: PoolConnection): Promise<void> {
    if (isReady.has(connection)) return
    // In these modes a backslash is a plain character, or a text in double quotes is a name.
    await run(
      connection,
      "set session sql_mode = replace(replace(replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), 'ANSI_QUOTES', ''), 'ANSI', '')",
    )
    // MariaDB counts in seconds, MySQL in milliseconds and under another name.
    await run(connection, `set session max_statement_time = ${limits.statementMs / 1000}`).catch(() =>
      run(connection, `set session max_execution_time = ${Math.ceil(limits.statementMs)}`),
    )
    isReady.add(connection)
  }

  return {
    async ask({ text, value, signal }, rows) {
      const statement = fillStatement(text, 'mysql', value)
      const connection = await connect(pool)
      let isGood = false
      try {
        signal.throwIfAborted()
        await prepare(connection)
        await run(connection, 'start transaction read only')
        isGood = await new Promise<boolean>((resolve, reject) => {
          signal.addEventListener('abort', () => reject(new Error('nobody waits any more')))
          const command = connection.execute(statement.sql, statement.values.map(sentValue))
          command.on('result', (row: unknown) => {
            if (typeof row !== 'object' || row === null) return
            if (!rows.take({ ...row })) resolve(false)
          })
          command.on('end', () => resolve(true))
          command.on('error', reject)
        })
        connection.unprepare(statement.sql)
        if (isGood) await run(connection, 'rollback')
      } finally {
        // What is not read to its end, or failed, is not used again.
        if (isGood) connection.release()
        else connection.destroy()
      }
    },
    close: () => new Promise((resolve, reject) => pool.end((error) => (error ? reject(error) : resolve()))),
  }
}

/** The driver only compares the name of a server with its certificate when it is told to. */
function tlsTo({ host, port }: Target, tls: DatabaseTls) {
  const ssl = { ...tlsOptions(tls), verifyIdentity: true }
  if (isIP(host) === 0) return { ssl }
  // For an address the driver names no server. Node.js then compares the certificate with the host of the socket, which
  // an address does not leave there, and at last with `localhost`.
  const stream = () => Object.assign(connectSocket(port ?? 3306, host).setNoDelay(true), { _host: host })
  return { ssl, stream }
}

function connect(pool: Pool): Promise<PoolConnection> {
  return new Promise((resolve, reject) =>
    pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
  )
}

function run(connection: PoolConnection, sql: string): Promise<void> {
  return new Promise((resolve, reject) => connection.query(sql, (error) => (error ? reject(error) : resolve())))
}

/** A whole number is sent as one: the server refuses any other kind after `limit`. */
function sentValue(value: BoundValue): string | number | boolean | bigint | null {
  return typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value
}
