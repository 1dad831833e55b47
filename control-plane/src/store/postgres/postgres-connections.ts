import pg from 'pg'
import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { UnavailableError, messageOf } from '../../errors.js'
import { isPassingPostgresError, isRefusal } from './postgres-errors.js'

/** Limits for making a connection and for an answer, in milliseconds. So no call waits for a dead network. */
const CONNECT_MS = 5000
const ANSWER_MS = 30_000

/**
 * The settings of every session. If a node hangs, the server ends its open transactions, so that other nodes do not
 * wait for them. A commit is on the disk before it is confirmed, whatever the settings of the server are.
 */
const SESSION = `
  set statement_timeout = '25s';
  set lock_timeout = '5s';
  set idle_in_transaction_session_timeout = '10s';
  set session characteristics as transaction isolation level read committed;
  select set_config('synchronous_commit', 'on', false) where current_setting('synchronous_commit') = 'off'`

/** Serializable transactions lock the rows that an index finds. A read of the whole table would lock the table. */
const WRITING_SESSION = `${SESSION}; set enable_seqscan = off`

/** Whole numbers arrive as numbers. No number of this service is beyond 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number, format?: 'text' | 'binary') =>
    id === pg.types.builtins.INT8 ? Number : (pg.types.getTypeParser(id, format) as (value: string) => unknown),
}

/** The use of a connection. */
export type ConnectionUse = 'read' | 'write' | 'migrate'

/** Connections to the server, made when they are needed. A broken connection is replaced. Its user gets the error. */
export function createConnections(config: pg.PoolConfig, use: ConnectionUse, most: number): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    types,
    max: most,
    application_name: 'holdfast',
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    // A migration of a large table may take very long, so it has no time-out.
    ...(use === 'migrate' ? {} : { query_timeout: ANSWER_MS }),
    ...preparing(use),
  })
  pool.on('error', () => undefined)
  return pool
}

/** The pool waits for it, although its type does not say so. */
function preparing(use: ConnectionUse) {
  return {
    onConnect: async (client: pg.ClientBase) => {
      // The query reports the error to its caller. But without a listener the error would end the process.
      client.on('error', () => undefined)
      if (use !== 'migrate') await client.query(use === 'write' ? WRITING_SESSION : SESSION)
    },
  }
}

/** A pool for the reads of Kysely. It turns errors of an unreachable server into UnavailableError. */
export function readingPool(pool: pg.Pool): PostgresPool {
  return {
    async connect() {
      const client = await inOurWords(pool.connect())
      let isBroken = false
      return poolClient(
        (text, parameters) =>
          inOurWords(
            sendQuery(client, text, parameters).catch((error: unknown) => {
              if (!isRefusal(error)) isBroken = true
              throw error
            }),
          ),
        () => client.release(isBroken),
      )
    },
    end: () => pool.end(),
  }
}

/** The functions of a connection that Kysely needs. */
export function poolClient(
  query: (text: string, parameters: readonly unknown[]) => Promise<PostgresQueryResult<unknown>>,
  release: () => void,
): PostgresPoolClient {
  return { query, release } as PostgresPoolClient
}

/**
 * Sends one statement. Texts of the server cannot contain U+0000. It is replaced by the sign for an unknown character.
 */
export async function sendQuery(
  client: pg.ClientBase,
  text: string,
  parameters: readonly unknown[],
): Promise<PostgresQueryResult<unknown>> {
  const { command, rowCount, rows } = await client.query<Record<string, unknown>>(text, parameters.map(storable))
  return { command: command as 'SELECT', rowCount: rowCount ?? 0, rows }
}

function storable(value: unknown): unknown {
  if (typeof value === 'string') return value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
  return Array.isArray(value) ? value.map(storable) : value
}

async function inOurWords<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (!isPassingPostgresError(error)) throw error
    const message = `the database cannot be read now: ${messageOf(error)}`
    throw new UnavailableError('database_unavailable', message, undefined, { cause: error })
  }
}
