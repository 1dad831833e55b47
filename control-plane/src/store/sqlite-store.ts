import { setTimeout as pause } from 'node:timers/promises'
import { Kysely } from 'kysely'
import sqlite3 from 'sqlite3'
import { UnavailableError, messageOf } from '../errors.js'
import { createGroupCommit } from './group-commit.js'
import { migrate, schemaState } from './migrations/index.js'
import type { Database } from './schema.js'
import { createSqliteDialect } from './sqlite-dialect.js'
import { type Statements, createStatements } from './statements.js'
import type { Store } from './store.js'

/** Handles that serve reads in turn, so that one long query does not hold up the others. */
const READERS = 2

/** How long a write waits for a locked database before it is refused, in milliseconds. */
const PATIENCE_MS = 30_000

/**
 * Opens (and creates) the database file and brings its tables up to date. WAL with `synchronous=FULL`: a commit is on
 * the disk before anybody is told. One handle writes, others read; sharing a handle would mix transactions.
 * @throws UnavailableError when the file cannot be opened
 */
export async function openSqliteStore(path: string): Promise<Store> {
  const writer = await openHandle(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
  const readers: Statements[] = []
  try {
    await writer.execute(
      'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma wal_autocheckpoint=4000; pragma cache_size=-16000',
    )
    const writing = new Kysely<Database>({ dialect: createSqliteDialect([writer]) })
    await migrate(writing)
    for (let count = 0; count < READERS; count += 1) {
      const reader = await openHandle(path, sqlite3.OPEN_READONLY)
      readers.push(reader)
      await reader.execute('pragma query_only=on; pragma cache_size=-16000')
    }
    return createStore(writer, writing, readers)
  } catch (error) {
    for (const handle of [writer, ...readers]) await handle.close()
    throw error
  }
}

function createStore(writer: Statements, writing: Kysely<Database>, readers: readonly Statements[]): Store {
  const read = new Kysely<Database>({ dialect: createSqliteDialect(readers) })
  const commits = createGroupCommit(
    {
      queries: writing,
      begin: () => writer.run('begin immediate', []).then(() => undefined),
      commit: () => writer.run('commit', []).then(() => undefined),
      // After some errors (disk full) SQLite has rolled back by itself and a second rollback is an error of no meaning.
      rollback: () =>
        writer.run('rollback', []).then(
          () => undefined,
          () => undefined,
        ),
      isPassing: isBusy,
    },
    { patienceMs: PATIENCE_MS, pause: (ms) => pause(ms), now: () => Date.now() },
  )
  return {
    read,
    write: (name, operation) => commits.write(name, operation),
    async check() {
      const state = await schemaState(read).catch((error: unknown) => {
        throw new UnavailableError('database_unreachable', 'database unreachable', undefined, { cause: error })
      })
      if (state === 'not provisioned') throw new UnavailableError('schema_not_provisioned', 'schema not provisioned')
      if (state === 'not upgraded') throw new UnavailableError('schema_not_upgraded', 'schema not upgraded')
    },
    async close() {
      await commits.close()
      for (const handle of [...readers, writer]) await handle.close()
    },
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'SQLITE_BUSY' || error.code === 'SQLITE_LOCKED')
}

function openHandle(path: string, mode: number): Promise<Statements> {
  return new Promise((resolve, reject) => {
    const handle = new sqlite3.Database(path, mode, (error) => {
      if (error) {
        reject(new UnavailableError('database_unreachable', `cannot open the database ${path}: ${messageOf(error)}`))
        return
      }
      handle.configure('busyTimeout', 2000)
      resolve(createStatements(handle))
    })
  })
}
