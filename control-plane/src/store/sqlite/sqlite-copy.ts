import { unlessMissing } from '@holdfast/host/system-errors'
import { Kysely } from 'kysely'
import { rename, rm, stat } from 'node:fs/promises'
import sqlite3 from 'sqlite3'
import { ConflictError } from '../../errors.js'
import { migrate, migrationsNamed } from '../migrations/index.js'
import type { Database } from '../schema.js'
import { keepFilePrivate } from './private-file.js'
import { createSqliteDialect } from './sqlite-dialect.js'
import { openHandle } from './sqlite-handle.js'
import type { Statements } from './sqlite-statements.js'
import {
  type CopiedRow,
  type DatabaseFilling,
  type DatabaseSnapshot,
  inOrder,
  isOwnTable,
  quoted,
  rowsAtOnce,
} from '../engine/copied-database.js'

/** Most parameters of one statement. */
const MAX_PARAMETERS = 900
/** The number of a row, with a name that no column has. */
const ROW_NUMBER = '$row'

/** Opens one state of an SQLite file, while a control plane may work on it. @throws UnavailableError */
export async function openSqliteSnapshot(path: string): Promise<DatabaseSnapshot> {
  const handle = await openHandle(path, sqlite3.OPEN_READWRITE)
  try {
    // The first read after this statement fixes the state that this handle sees.
    await handle.execute('begin')
    const names = await namesIn(handle, "select name from sqlite_master where type = 'table'")
    const tables = names.filter(isOwnTable)
    const references = new Map<string, ReadonlySet<string>>()
    for (const table of tables) {
      const others = await rowsIn(handle, `select "table" as name from pragma_foreign_key_list(?)`, [table])
      references.set(table, new Set(others.map((row) => String(row.name))))
    }
    const sequences = await rowsIn(handle, 'select name, seq from sqlite_sequence', [])
    return {
      steps: await namesIn(handle, 'select name from kysely_migration order by name'),
      tables: inOrder(tables, references),
      sequences: Object.fromEntries(sequences.map(({ name, seq }) => [String(name), Number(seq)])),
      rows: (table) => rowsOf(handle, table),
      async close() {
        await handle.execute('rollback')
        await handle.close()
      },
    }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/**
 * Begins a new SQLite file beside the database. When it is complete, it takes the place of the database.
 * @param steps the migrations that made the tables of the copy
 * @param kept the place to which an existing database is moved; null: there must be none
 * @throws ConflictError `database_not_empty`, `newer_tables`
 */
export async function fillSqlite(
  path: string,
  steps: readonly string[],
  kept: string | null,
): Promise<DatabaseFilling> {
  // Before any file is made: a copy of a newer release is refused.
  const migrations = migrationsNamed(steps)
  const made = `${path}.restoring`
  const isThere = await isFile(path)
  if (isThere && kept === null && !(await isEmpty(path))) {
    throw new ConflictError('database_not_empty', `The database ${path} is not empty: give --replace to put it aside`)
  }
  await removeFiles(made)
  await keepFilePrivate(made, () => undefined)
  const handle = await openHandle(made, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
  const database = new Kysely<Database>({ dialect: createSqliteDialect([handle]) })
  await handle.execute('pragma foreign_keys = off')
  // The file is new, and is removed if anything fails.
  await handle.execute('pragma synchronous = off')
  await migrate(database, migrations)
  await clearTables(handle)
  await handle.execute('begin')
  return {
    insert: (table, rows) => insertRows(handle, table, rows),
    rows: (table) => rowsOf(handle, table),
    async finish(sequences) {
      for (const [name, seq] of Object.entries(sequences)) {
        await handle.run('update sqlite_sequence set seq = max(seq, ?) where name = ?', [seq, name])
        await handle.run(
          'insert into sqlite_sequence (name, seq) select ?, ? where not exists (select 1 from sqlite_sequence where name = ?)',
          [name, seq, name],
        )
      }
      await handle.execute('commit')
      await migrate(database)
      await handle.execute('pragma synchronous = full')
      await handle.execute('pragma wal_checkpoint(truncate)')
      await handle.close()
      if (isThere) {
        if (kept === null) await removeFiles(path)
        else for (const end of ['', '-wal', '-shm']) await unlessMissing(rename(path + end, kept + end), undefined)
      }
      await rename(made, path)
      await removeFiles(made)
    },
    async abandon() {
      await handle.close()
      await removeFiles(made)
    },
  }
}

async function* rowsOf(handle: Statements, table: string): AsyncGenerator<CopiedRow[]> {
  const most = rowsAtOnce(table)
  const statement = `select rowid as ${quoted(ROW_NUMBER)}, * from ${quoted(table)} where rowid > ? order by rowid limit ${most}`
  for (let last = -Number.MAX_SAFE_INTEGER; ;) {
    const rows = await rowsIn(handle, statement, [last])
    if (rows.length > 0) yield rows.map(({ [ROW_NUMBER]: _, ...row }) => row)
    if (rows.length < most) return
    last = Number(rows.at(-1)?.[ROW_NUMBER])
  }
}

async function insertRows(handle: Statements, table: string, rows: readonly CopiedRow[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const most = Math.max(1, Math.floor(MAX_PARAMETERS / Math.max(1, columns.length)))
  for (let done = 0; done < rows.length; done += most) {
    const some = rows.slice(done, done + most)
    const row = `(${columns.map(() => '?').join(', ')})`
    const statement = `insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values ${some.map(() => row).join(', ')}`
    await handle.run(
      statement,
      some.flatMap((one) => columns.map((column) => one[column] ?? null)),
    )
  }
}

/** Migrations may insert rows into their tables. */
async function clearTables(handle: Statements): Promise<void> {
  for (const name of await namesIn(handle, "select name from sqlite_master where type = 'table'")) {
    if (isOwnTable(name)) await handle.run(`delete from ${quoted(name)}`, [])
  }
}

/** The rows as the driver of SQLite returns them: numbers, texts, bytes, null. */
function rowsIn(handle: Statements, statement: string, parameters: readonly unknown[]): Promise<CopiedRow[]> {
  return handle.all(statement, parameters) as Promise<CopiedRow[]>
}

async function namesIn(handle: Statements, statement: string): Promise<string[]> {
  return (await rowsIn(handle, statement, [])).map(({ name }) => String(name))
}

/** Whether nobody has used a database yet: it has no account and no job. */
async function isEmpty(path: string): Promise<boolean> {
  const handle = await openHandle(path, sqlite3.OPEN_READWRITE)
  try {
    const tables = await namesIn(
      handle,
      "select name from sqlite_master where type = 'table' and name in ('user', 'job')",
    )
    for (const table of tables) {
      if ((await rowsIn(handle, `select 1 from ${quoted(table)} limit 1`, [])).length > 0) return false
    }
    return true
  } finally {
    await handle.close()
  }
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function removeFiles(path: string): Promise<void> {
  for (const end of ['', '-wal', '-shm', '-journal']) await rm(path + end, { force: true })
}
