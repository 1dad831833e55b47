import { setTimeout as pause } from 'node:timers/promises'
import { Kysely, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { UnavailableError, messageOf } from '../../errors.js'
import {
  type GroupCommit,
  OutcomeUnknownError,
  type WriteTransactions,
  createGroupCommit,
} from '../engine/group-commit.js'
import { type Tables, migrate } from '../migrations/index.js'
import { keepFilePrivate } from './private-file.js'
import type { Database } from '../schema.js'
import { createSqliteDialect } from './sqlite-dialect.js'
import { asReader, asRefusal, isPassingSqliteError, isStuck } from './sqlite-errors.js'
import { openHandle } from './sqlite-handle.js'
import { type Handles, openHandles } from './sqlite-handles.js'
import type { Statements } from './sqlite-statements.js'
import { createStoreCheck } from '../engine/store-check.js'
import type { RawStore } from '../store.js'

/** Number of handles that serve reads in turn, so that one long query does not delay the others. */
const READERS = 2

/** How long a write waits for a database that is locked or cannot be written before it is refused, in milliseconds. */
const TIMEOUT_MS = 10_000

/** How long opening waits for other processes before the log can be copied into the main file, in milliseconds. */
const MOVE_LOG_MS = 30_000

/** The same when the file is opened again. Requests are refused meanwhile, and it is tried again. */
const MOVE_LOG_AGAIN_MS = 2000

/**
 * Opens (and creates) the database file and brings its tables up to date. WAL with `synchronous=FULL`: a commit is on
 * the disk before anybody learns of it. One handle writes, and others read. A shared handle would mix transactions.
 *
 * A commit whose sync failed does not count. The index of the log is not moved on, so nobody reads the commit. The next
 * commit writes all its frames over it again, and its own sync covers them. Only a process that is killed in between
 * leaves such a commit for the next process, see `moveLogIntoFile`.
 * @param warn called when others may read the file and this cannot be changed
 * @throws UnavailableError when the file cannot be opened or its content cannot be made durable
 */
export async function openSqliteStore(
  path: string,
  warn: (text: string) => void = () => undefined,
  tables: Tables = 'brought up to date',
): Promise<RawStore> {
  await keepFilePrivate(path, warn)
  // The first opening may have to wait for other processes. A later one is tried again by the next caller that needs
  // it.
  let mostMs = MOVE_LOG_MS
  const open = (): Promise<Statements[]> => openAll(path, mostMs)
  // There are no readers before the store exists.
  let renew = (): void => undefined
  const handles = await openHandles({ open, isStuck, warn }, () => renew())
  mostMs = MOVE_LOG_AGAIN_MS
  const writing = new Kysely<Database>({ dialect: createSqliteDialect([handles.writer]) })
  try {
    if (tables === 'brought up to date') await migrate(writing)
  } catch (error) {
    await handles.close()
    throw error
  }
  const commits = createGroupCommit(transactionsOf(handles, writing), {
    timeoutMs: TIMEOUT_MS,
    pause: (ms) => pause(ms),
    now: () => performance.now(),
  })
  let isAsked = false
  renew = () => {
    if (isAsked) return
    isAsked = true
    // Every write first checks whether the handles have to be replaced.
    const asked = commits.write('store.renew', () => Promise.resolve())
    // Reads are refused while the file cannot be opened. The next read tries again.
    asked.catch(() => undefined).finally(() => (isAsked = false))
  }
  return createStore(handles, commits)
}

/** Opens all handles. @throws the error of the first one that failed; then none is open */
async function openAll(path: string, mostMs: number): Promise<Statements[]> {
  const opened: Statements[] = []
  const openOne = async (mode: number): Promise<Statements> => {
    const handle = await openHandle(path, mode)
    opened.push(handle)
    return handle
  }
  try {
    const writer = await openOne(sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
    await writer.execute(
      'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma wal_autocheckpoint=4000; pragma cache_size=-16000',
    )
    await moveLogIntoFile(path, writer, mostMs)
    for (let count = 0; count < READERS; count += 1) {
      const reader = await openOne(sqlite3.OPEN_READONLY)
      await reader.execute('pragma query_only=on; pragma cache_size=-16000')
    }
    return opened
  } catch (error) {
    for (const handle of opened) await handle.close()
    throw error
  }
}

function createStore(handles: Handles, commits: GroupCommit<Kysely<Database>>): RawStore {
  const read = new Kysely<Database>({ dialect: createSqliteDialect(handles.readers.map(asReader)) })
  return {
    read,
    write: (name, operation) => commits.write(name, operation),
    // No other process writes the file of a running control plane. A file that was put back is noticed at the start.
    lookBack: () => Promise.resolve('unknown'),
    limitWaits(ms) {
      handles.renewNoMore()
      commits.limitWaits(ms)
    },
    // Nothing uses this number. Setting it to its present value writes a page, and so shows whether writing is
    // possible.
    check: createStoreCheck(read, commits, (queries) => sql`pragma user_version = 0`.execute(queries)),
    databaseTime: () => Promise.resolve(null),
    async close() {
      await commits.close()
      await handles.close()
    },
  }
}

function transactionsOf(handles: Handles, queries: Kysely<Database>): WriteTransactions<Kysely<Database>> {
  const { writer } = handles
  /** A commit failed and none has succeeded since. */
  let commitFailed = false
  return {
    queries,
    async begin() {
      // No transaction is open now, so the handles may be replaced.
      const isNew = await handles.renewIfStuck()
      const isUnsure = isNew && commitFailed
      commitFailed &&= !isNew
      // Opening the file may have found the failed commit in its log. So its writes must not run again.
      if (isUnsure) throw new OutcomeUnknownError('the file was opened anew after a commit had failed')
      await writer.run('begin immediate', [])
    },
    async commit() {
      commitFailed = true
      await writer.run('commit', [])
      commitFailed = false
    },
    // After some errors (disk full) SQLite has already rolled back. Then the error of a second rollback means nothing.
    rollback: () =>
      writer.run('rollback', []).then(
        () => undefined,
        () => undefined,
      ),
    isPassing: isPassingSqliteError,
    asRefusal,
  }
}

/**
 * Copies the log that an earlier process left into the main file, and syncs that file. The log may have a commit whose
 * sync failed before that process was killed. This commit can be read, but a later sync does not repeat the failed one,
 * so it may be gone after a power loss. After the copy and its sync it is as safe as any other commit. Only then may a
 * runner learn of it.
 * @throws UnavailableError when this cannot be done
 */
async function moveLogIntoFile(path: string, writer: Statements, mostMs: number): Promise<void> {
  const deadline = performance.now() + mostMs
  for (;;) {
    const problem = await moveLogOnce(writer)
    if (problem === null) return
    if (performance.now() > deadline)
      throw new UnavailableError('database_unreachable', `the database ${path} cannot be taken up: ${problem}`)
    await pause(100)
  }
}

/** Returns null when everything is in the main file, else the reason why not. */
async function moveLogOnce(writer: Statements): Promise<string | null> {
  try {
    const [row] = (await writer.all('pragma wal_checkpoint(full)', [])) as { log: number; checkpointed: number }[]
    return row && row.log > row.checkpointed ? 'another process holds its log' : null
  } catch (error) {
    if (isPassingSqliteError(error)) return messageOf(error)
    throw error
  }
}
