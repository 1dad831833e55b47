import { realpath } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import sqlite3 from 'sqlite3'
import * as v from 'valibot'
import { DatabaseHeldError, messageOf } from '../../errors.js'
import { keepFilePrivate } from './private-file.js'
import { openHandle } from './sqlite-handle.js'
import type { Statements } from './sqlite-statements.js'

/** How long two control planes that start at the same moment may disturb each other, in milliseconds. */
const HOLD_WAIT_MS = 10_000

/** The process that holds a database, for the message to the process that is refused. */
export interface Holder {
  readonly pid: number
  readonly host: string
  /** When it began to hold it, in milliseconds. */
  readonly since: number
}

/** Shows that this process is the only control plane on a database file. */
export interface DatabaseHold {
  /** Releases the file for another control plane. The end of the process does the same, however it ends. */
  close(): Promise<void>
}

const HolderRow = v.object({ token: v.string(), pid: v.number(), host: v.string(), since: v.number() })

const TABLE =
  'create table if not exists holder (id integer primary key, token text, pid integer, host text, since integer)'

/**
 * Takes the database file for this process alone. Two control planes on one file would not know of each other. Both
 * would accept runners, and abandon the jobs of the other one.
 *
 * Beside the database is a small second one (`-lock`). In it a write transaction stays open as long as the process
 * lives. So the kernel holds the lock. It is released at once when the process ends, however it ends, and it counts in
 * every container that has the file. It does not disturb programs that read or back up the database itself. Others may
 * read the small database, so they find out who has the lock.
 *
 *   begin → the row is not ours → write it, commit, begin again → the row is ours: held
 *
 * Another process may come between commit and begin. Then the row is not ours any more. So the row always names the
 * process that holds the lock.
 * @param token a text that no other process uses
 * @throws DatabaseHeldError when another process has it, UnavailableError when the lock file cannot be opened
 */
export async function holdSqliteFile(
  path: string,
  holder: Holder & { readonly token: string },
  options: { readonly warn: (text: string) => void; readonly waitMs?: number },
): Promise<DatabaseHold> {
  const lockPath = `${await resolved(path)}-lock`
  await keepFilePrivate(lockPath, options.warn)
  const handle = await openHandle(lockPath, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
  const deadline = performance.now() + (options.waitMs ?? HOLD_WAIT_MS)
  try {
    for (;;) {
      if (!(await begins(handle)) || performance.now() > deadline) throw await heldBy(handle, path)
      if ((await holderIn(handle))?.token === holder.token) break
      if (!(await writes(handle, holder, options.warn))) break
    }
    return { close: () => handle.close() }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** True when this process has the lock now, false when another one has it. */
async function begins(handle: Statements): Promise<boolean> {
  try {
    await handle.execute('begin immediate')
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'SQLITE_BUSY') return false
    throw error
  }
}

/**
 * Writes which process holds the database. This ends the transaction. False: the disk is full. The lock is still held.
 */
async function writes(
  handle: Statements,
  { token, pid, host, since }: Holder & { readonly token: string },
  warn: (text: string) => void,
): Promise<boolean> {
  try {
    await handle.execute(TABLE)
    await handle.run('insert or replace into holder (id, token, pid, host, since) values (1, ?, ?, ?, ?)', [
      token,
      pid,
      host,
      since,
    ])
    await handle.execute('commit')
    return true
  } catch (error) {
    warn(`it could not be noted who holds the database: ${messageOf(error)}`)
    await handle.execute('rollback').catch(() => undefined)
    if (await begins(handle)) return false
    return true
  }
}

async function holderIn(handle: Statements): Promise<v.InferOutput<typeof HolderRow> | null> {
  try {
    const [row] = await handle.all('select token, pid, host, since from holder where id = 1', [])
    return v.is(HolderRow, row) ? row : null
  } catch {
    // No process has written the row yet.
    return null
  }
}

async function heldBy(handle: Statements, path: string): Promise<DatabaseHeldError> {
  const holder = await holderIn(handle)
  const who = holder
    ? `pid ${holder.pid} on ${holder.host}, since ${new Date(holder.since).toISOString()}`
    : 'who has not said its name'
  return new DatabaseHeldError(
    'database_held',
    `another control plane works on the database ${path} (${who}); stop it, or give this one a folder of its own with ` +
      '--persistent-path. Several control planes need PostgreSQL (DATABASE_URL)',
  )
}

/** The real path of the file, so that a process that uses a symbolic link finds the same lock. */
async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch {
    // It is not there yet.
    return join(await realpath(dirname(path)), basename(path))
  }
}
