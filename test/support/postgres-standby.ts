import { cpSync, rmSync, writeFileSync, appendFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { POSTGRES_PASSWORD, type PostgresServer, startPostgres } from './postgres.js'
import { waitFor } from './wait.js'

/** What both servers of a pair get: the one that takes over serves the next standby. */
const FLAGS = [
  'fsync=off',
  'shared_buffers=32MB',
  'wal_keep_size=256MB',
  'wal_receiver_timeout=0',
  'wal_sender_timeout=0',
]
/** Files of a running server that a copy must not have. */
const OF_THE_PROCESS = ['postmaster.pid', 'postmaster.opts']

/** A server that others can follow. */
export function startPrimary(): Promise<PostgresServer> {
  return startPostgres(FLAGS)
}

/**
 * Makes and starts an asynchronous standby: a base backup of a running server, which follows it from then on.
 * @param through the port by which it reaches the server, such as that of a proxy
 */
export async function startStandby(primary: PostgresServer, through: number): Promise<PostgresServer> {
  return startPostgres(FLAGS, {}, async (data) => {
    await asOwner(primary, async (client) => {
      await client.query(`select pg_backup_start('standby', true)`)
      cpSync(primary.data, data, {
        recursive: true,
        filter: (path) => !OF_THE_PROCESS.some((name) => path === join(primary.data, name)),
        errorOnExist: false,
        force: true,
      })
      const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
      writeFileSync(join(data, 'backup_label'), rows[0]?.labelfile ?? '', { mode: 0o600 })
    })
    for (const name of OF_THE_PROCESS) rmSync(join(data, name), { force: true })
    const way = `host=127.0.0.1 port=${through} user=holdfast password=${POSTGRES_PASSWORD} dbname=postgres`
    appendFileSync(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${way}'\n`)
    writeFileSync(join(data, 'standby.signal'), '', { mode: 0o600 })
  })
}

/** Resolves when the standby has all that the server had committed when this was called. */
export async function waitForStandby(primary: PostgresServer, standby: PostgresServer): Promise<void> {
  const sent = await textOf(primary, 'select pg_current_wal_lsn()::text as value')
  await waitFor('the standby to follow', async () => {
    const behind = `select (pg_last_wal_replay_lsn() >= '${sent}'::pg_lsn)::text as value`
    return (await textOf(standby, behind)) === 'true'
  })
}

/** The standby takes over. It is a server of its own from then on. */
export async function promote(standby: PostgresServer): Promise<void> {
  await textOf(standby, 'select pg_promote(true, 60)::text as value')
}

async function textOf(server: PostgresServer, sql: string): Promise<string> {
  return asOwner(server, async (client) => (await client.query<{ value: string }>(sql)).rows[0]?.value ?? '')
}

async function asOwner<T>(server: PostgresServer, task: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: server.urlOf('postgres') })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return await task(client)
  } finally {
    await client.end()
  }
}
