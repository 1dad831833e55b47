import type { PoolClient } from 'pg'
import { type AskLimits, type Engine, type RowTaker, type Target, tlsOptions } from './engine.js'
import { type Statement, fillStatement } from './statement.js'

/** Types whose values stay texts: dates and times, which JavaScript would move to another zone. */
const AS_TEXT = new Set([1082, 1083, 1114, 1184, 1266])
const INT8 = 20

/** Connections to a PostgreSQL server. The driver is loaded here, when the first form asks. */
export async function openPostgres(target: Target, limits: AskLimits, log: (error: Error) => void): Promise<Engine> {
  const { default: pg } = await import('pg')
  const pool = new pg.Pool({
    host: target.host,
    port: target.port ?? 5432,
    database: target.database ?? target.user ?? undefined,
    user: target.user ?? undefined,
    password: target.password,
    ssl: target.tls ? tlsOptions(target.tls) : false,
    max: limits.connections,
    idleTimeoutMillis: limits.idleMs,
    connectionTimeoutMillis: limits.connectMs,
    statement_timeout: limits.statementMs,
    application_name: 'holdfast',
    // The escaping of texts relies on both.
    options: '-c standard_conforming_strings=on -c client_encoding=UTF8',
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') => {
        if (AS_TEXT.has(oid)) return (text: string) => text
        if (oid === INT8) return (text: string) => (Number.isSafeInteger(Number(text)) ? Number(text) : text)
        return format === 'binary' ? pg.types.getTypeParser(oid, 'binary') : pg.types.getTypeParser(oid, 'text')
      },
    },
  })
  pool.on('error', log)

  const askWith = (client: PoolClient, statement: Statement, rows: RowTaker, signal: AbortSignal) =>
    new Promise<'read' | 'full'>((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new Error('nobody waits any more')))
      // A connection that ends says so here, and its query fails, too.
      client.once('error', reject)
      const query = new pg.Query<Record<string, unknown>>({
        text: statement.sql,
        values: [...statement.values],
        // One statement in one message, also without values.
        queryMode: 'extended',
      } as never)
      query.on('row', (row) => {
        if (!rows.take(row)) resolve('full')
      })
      query.on('end', () => {
        client.removeListener('error', reject)
        resolve('read')
      })
      query.on('error', reject)
      client.query(query)
    })

  return {
    async ask({ text, value, signal }, rows) {
      const statement = fillStatement(text, 'postgres', value)
      const client = await pool.connect()
      let isGood = false
      try {
        signal.throwIfAborted()
        await client.query('begin transaction read only')
        isGood = (await askWith(client, statement, rows, signal)) === 'read'
        if (isGood) await client.query('rollback')
      } finally {
        // What is not read to its end, or failed, is not used again.
        client.release(!isGood)
      }
    },
    close: () => pool.end(),
  }
}
