import pg from 'pg'
import { postgresConfigOf } from './postgres-url.js'

/** Limits for making a connection and for an answer, in milliseconds. A pool that is used up must not delay a start. */
const CONNECT_MS = 5000
const ANSWER_MS = 3000

/** How many transactions of others are open while the session is asked again. */
const OTHERS = 2

/**
 * Looks whether a session stays with one process of the server. Behind a pooler in transaction mode each transaction may
 * go to another process. Then settings of a session are lost or meet others, and mostly nothing comes to who listens.
 * @returns what is wrong, as a sentence; null: nothing is, or the server does not answer now
 */
export async function sessionDoubtOf(url: string): Promise<string | null> {
  const clients = Array.from({ length: 1 + OTHERS }, () => newClient(url))
  const [own, ...others] = clients
  if (own === undefined) return null
  try {
    for (const client of clients) await client.connect()
    const before = await processOf(own)
    for (const other of others) {
      // It takes the process that was free last, which is the one that `own` had.
      await other.query('begin')
      await processOf(other)
      if ((await processOf(own)) !== before) return DOUBT
    }
    return null
  } catch {
    // Whoever needs the server finds out that it does not answer.
    return null
  } finally {
    await Promise.all(clients.map((client) => client.end().catch(() => undefined)))
  }
}

const DOUBT =
  'DATABASE_URL leads through a pooler in transaction mode: settings of sessions get lost and the control planes may ' +
  'not hear of each other; connect to the server itself, or set the pooler to session mode (several-control-planes.md)'

function newClient(url: string): pg.Client {
  const client = new pg.Client({
    ...postgresConfigOf(url),
    application_name: 'holdfast',
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
  })
  client.on('error', () => undefined)
  return client
}

async function processOf(client: pg.Client): Promise<number | undefined> {
  return (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]?.pid
}
