import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, sql } from 'kysely'
import type pg from 'pg'
import { UnavailableError, messageOf } from '../../errors.js'
import { createGroupCommit } from '../engine/group-commit.js'
import { type Tables, migrate } from '../migrations/index.js'
import { createConnections, readingPool } from './postgres-connections.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { isPassingPostgresError } from './postgres-errors.js'
import { createPostgresTransactions } from './postgres-transactions.js'
import { createWriteMarks } from './postgres-marks.js'
import { postgresConfigOf } from './postgres-url.js'
import type { Database } from '../schema.js'
import { createStoreCheck } from '../engine/store-check.js'
import type { RawStore } from '../store.js'

/** Connections for reads. Writes have one more, and a second one to find out about a lost commit. */
const READERS = 6
const WRITERS = 2

/**
 * Most writes that are committed together. With more of them, conflicts with the writes of other nodes become more
 * frequent.
 */
const MAX_IN_GROUP = 16

/** How long a write waits for an unreachable server before it is refused, in milliseconds. */
const TIMEOUT_MS = 10_000

/** How long opening waits for the server, which may be starting at the same time, in milliseconds. */
const OPEN_MS = 30_000

/**
 * Connects to a PostgreSQL database and brings its tables up to date. Several nodes may share one. All their writes
 * together are serializable. The writes of this node are committed one group after the other, in the order in which
 * they were given.
 * @throws UnavailableError when the server cannot be reached or refuses
 */
export async function openPostgresStore(url: string, tables: Tables = 'brought up to date'): Promise<RawStore> {
  const config = postgresConfigOf(url)
  if (tables === 'brought up to date') await migrateWhenThere(config)
  const reading = createConnections(config, 'read', READERS)
  const writing = createConnections(config, 'write', WRITERS)
  const read = new Kysely<Database>({ dialect: createPostgresDialect(readingPool(reading)) })
  const marks = createWriteMarks(writing, () => performance.now())
  const node = randomBytes(12).toString('hex')
  const commits = createGroupCommit(
    createPostgresTransactions(writing, {
      newMark: () => marks.next(node),
      noteCommitted: (mark) => marks.noteCommitted(mark),
      commitCheckMs: TIMEOUT_MS,
      pause: (ms) => pause(ms),
      now: () => performance.now(),
    }),
    {
      timeoutMs: TIMEOUT_MS,
      pause: (ms) => pause(ms),
      now: () => performance.now(),
      mostInGroup: MAX_IN_GROUP,
    },
  )
  return {
    read,
    write: (name, operation) => commits.write(name, operation),
    lookBack: () => marks.lookBack(),
    limitWaits: (ms) => commits.limitWaits(ms),
    // A write without changes still writes its mark. So it shows whether writing is possible.
    check: createStoreCheck(read, commits, () => Promise.resolve()),
    databaseTime: () => timeOf(read),
    async close() {
      await commits.close()
      await marks.written()
      await Promise.all([read.destroy(), writing.end()])
    },
  }
}

async function timeOf(read: Kysely<Database>): Promise<number | null> {
  const { rows } = await sql<{ ms: number | string }>`
    select floor(extract(epoch from clock_timestamp()) * 1000) as ms
  `.execute(read)
  return rows[0] ? Number(rows[0].ms) : null
}

/** If nodes start at the same time, they do this one after the other. */
async function migrateWhenThere(config: pg.PoolConfig): Promise<void> {
  const deadline = performance.now() + OPEN_MS
  for (;;) {
    const pool = createConnections(config, 'migrate', 2)
    const database = new Kysely<Database>({ dialect: createPostgresDialect(pool) })
    let isConnected = false
    try {
      await pool.query('select 1')
      isConnected = true
      await migrate(database)
      return
    } catch (error) {
      // A failed migration would fail again, so it is not repeated. Its message names the step.
      const mayPass = isPassingPostgresError(error) || isPassingPostgresError((error as Error).cause)
      if (isConnected && !mayPass) throw error
      if (!mayPass || performance.now() > deadline) {
        const where = `the database ${config.database ?? ''} at ${config.host ?? ''}:${config.port ?? 5432}`
        throw new UnavailableError('database_unreachable', `${where} cannot be had: ${messageOf(error)}`)
      }
      await pause(500)
    } finally {
      await database.destroy()
    }
  }
}
