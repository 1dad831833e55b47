import type { Connection, FetchTypeResponse, PoolAttributes } from 'oracledb'
import type { AskLimits, Engine, RowTaker, Target } from './engine.js'
import { type BoundValue, type Statement, fillStatement } from './statement.js'

/** Rows that are read at once. */
const ROWS_AT_ONCE = 200

/** What the driver is told of a server. Exported for its test: no such server is at hand. */
export function oracleConfiguration(target: Target, limits: AskLimits): PoolAttributes {
  const { host, port, database, user, password, tls } = target
  const seconds = (ms: number) => Math.max(1, Math.ceil(ms / 1000))
  // An IPv6 address stands in brackets.
  const place = `${host.includes(':') ? `[${host}]` : host}:${port ?? (tls ? 2484 : 1521)}`
  return {
    user: user ?? '',
    password,
    connectString: `${tls ? 'tcps' : 'tcp'}://${place}${database === null ? '' : `/${database}`}`,
    ...(tls?.ca ? { walletContent: tls.ca } : {}),
    ...(tls ? { sslServerDNMatch: true } : {}),
    connectTimeout: seconds(limits.connectMs),
    transportConnectTimeout: seconds(limits.connectMs),
    // Nothing is connected before the first question.
    poolMin: 0,
    poolMax: limits.connections,
    poolIncrement: 1,
    poolTimeout: seconds(limits.idleMs),
    queueTimeout: limits.statementMs,
    stmtCacheSize: 0,
  }
}

/** Settings of a session: times and numbers are texts that do not depend on the machine. */
const SESSION = [
  "alter session set nls_date_format = 'YYYY-MM-DD HH24:MI:SS' nls_timestamp_format = 'YYYY-MM-DD HH24:MI:SS.FF'",
  "alter session set nls_timestamp_tz_format = 'YYYY-MM-DD\"T\"HH24:MI:SS.FFTZH:TZM' nls_numeric_characters = '.,'",
]

/** Connections to an Oracle database, without programs of Oracle. The driver is loaded when the first form asks. */
export async function openOracle(target: Target, limits: AskLimits): Promise<Engine> {
  const { default: oracledb } = await import('oracledb')
  const pool = await oracledb.createPool(oracleConfiguration(target, limits))
  const isReady = new WeakSet<Connection>()

  const fetchTypeHandler = ({ dbType }: { dbType?: unknown }): FetchTypeResponse | undefined => {
    if (dbType === oracledb.DB_TYPE_NUMBER) return { type: oracledb.DB_TYPE_VARCHAR, converter: exactNumber }
    const isTime = [
      oracledb.DB_TYPE_DATE,
      oracledb.DB_TYPE_TIMESTAMP,
      oracledb.DB_TYPE_TIMESTAMP_LTZ,
      oracledb.DB_TYPE_TIMESTAMP_TZ,
      oracledb.DB_TYPE_CLOB,
      oracledb.DB_TYPE_NCLOB,
    ].includes(dbType as never)
    if (isTime) return { type: oracledb.DB_TYPE_VARCHAR }
    return dbType === oracledb.DB_TYPE_BLOB ? { type: oracledb.DB_TYPE_RAW } : undefined
  }

  /** @returns false when there was no room for more rows */
  async function read(connection: Connection, { sql, values }: Statement, rows: RowTaker): Promise<boolean> {
    const { resultSet } = await connection.execute<Record<string, unknown>>(sql, values.map(sentValue), {
      outFormat: oracledb.OUT_FORMAT_OBJECT,
      resultSet: true,
      fetchArraySize: ROWS_AT_ONCE,
      fetchTypeHandler,
    })
    if (!resultSet) throw new Error('the statement gives no rows')
    for (;;) {
      const part = await resultSet.getRows(ROWS_AT_ONCE)
      if (part.some((row) => !rows.take(row))) return false
      if (part.length < ROWS_AT_ONCE) break
    }
    await resultSet.close()
    return true
  }

  return {
    async ask({ text, value, signal }, rows) {
      const statement = fillStatement(text, 'oracle', value)
      signal.throwIfAborted()
      const connection = await pool.getConnection()
      // The call that runs is broken off; it then fails in its own words.
      const stop = () => void connection.break().catch(() => undefined)
      let isGood = false
      try {
        signal.addEventListener('abort', stop)
        signal.throwIfAborted()
        connection.callTimeout = Math.ceil(limits.statementMs)
        if (!isReady.has(connection)) for (const sql of SESSION) await connection.execute(sql)
        isReady.add(connection)
        await connection.execute('set transaction read only')
        isGood = await read(connection, statement, rows)
        if (isGood) await connection.rollback()
      } finally {
        signal.removeEventListener('abort', stop)
        // What is not read to its end, or failed, is not used again.
        await connection.close({ drop: !isGood })
      }
    },
    close: () => pool.close(Math.ceil(limits.connectMs / 1000)),
  }
}

/** Older servers know no booleans in a statement. */
function sentValue(value: BoundValue): string | number | null {
  return typeof value === 'boolean' ? Number(value) : value
}

/** A number where JavaScript has exactly this one, else its text. Exported for its test, as above. */
export function exactNumber(text: unknown): unknown {
  if (typeof text !== 'string') return text
  const number = Number(text)
  if (Number.isInteger(number)) return Number.isSafeInteger(number) ? number : text
  return text.replace(/[^0-9]/g, '').replace(/^0+/, '').length <= 15 ? number : text
}
