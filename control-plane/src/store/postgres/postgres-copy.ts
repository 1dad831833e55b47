import { Kysely } from 'kysely'
import type pg from 'pg'
import { ConflictError } from '../../errors.js'
import { migrate, migrationsNamed } from '../migrations/index.js'
import { createConnections } from './postgres-connections.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { postgresConfigOf } from './postgres-url.js'
import type { Database } from '../schema.js'
import {
  type CopiedRow,
  type DatabaseFilling,
  type DatabaseSnapshot,
  inOrder,
  isOwnTable,
  quoted,
  rowsAtOnce,
} from '../engine/copied-database.js'

const MAX_PARAMETERS = 5000

const TABLES = `select c.relname as name from pg_class c where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace`
const REFERENCES = `select conrelid::regclass::text as name, confrelid::regclass::text as other from pg_constraint
  where contype = 'f' and connamespace = current_schema()::regnamespace`
const IDENTITIES = `select table_name as name, column_name as column from information_schema.columns
  where table_schema = current_schema() and is_identity = 'YES'`

/** Opens one state of a PostgreSQL database, while control planes may work on it. */
export async function openPostgresSnapshot(url: string): Promise<DatabaseSnapshot> {
  const pool = createConnections(postgresConfigOf(url), 'migrate', 1)
  const client = await pool.connect()
  const close = async () => {
    client.release(true)
    await pool.end()
  }
  try {
    // Writing the file of the copy may be slow, so the session has no time-out.
    await client.query('set idle_in_transaction_session_timeout = 0')
    await client.query('begin isolation level repeatable read read only')
    const tables = (await namesIn(client, TABLES)).filter(isOwnTable)
    const references = new Map(tables.map((table) => [table, new Set<string>()]))
    for (const { name, other } of (await client.query<{ name: string; other: string }>(REFERENCES)).rows) {
      references.get(unquoted(name))?.add(unquoted(other))
    }
    return {
      steps: await namesIn(client, 'select name from kysely_migration order by name'),
      tables: inOrder(tables, references),
      sequences: await sequencesOf(client),
      rows: (table) => rowsOf(client, table),
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * Makes the tables in a PostgreSQL database and begins to fill them, in one transaction.
 * @param isReplacing removes the present tables
 * @throws ConflictError `database_not_empty`, `newer_tables`
 */
export async function fillPostgres(
  url: string,
  steps: readonly string[],
  isReplacing: boolean,
): Promise<DatabaseFilling> {
  // Before anything is removed: a copy of a newer release is refused.
  const migrations = migrationsNamed(steps)
  const pool = createConnections(postgresConfigOf(url), 'migrate', 2)
  const database = new Kysely<Database>({ dialect: createPostgresDialect(pool) })
  try {
    await prepare(pool, isReplacing)
    await migrate(database, migrations)
  } catch (error) {
    await database.destroy()
    throw error
  }
  const client = await pool.connect()
  await client.query('set idle_in_transaction_session_timeout = 0')
  await client.query('begin')
  for (const name of await namesIn(client, TABLES)) {
    if (isOwnTable(name)) await client.query(`truncate ${quoted(name)} cascade`)
  }
  return {
    insert: (table, rows) => insertRows(client, table, rows),
    rows: (table) => rowsOf(client, table),
    async finish(sequences) {
      const columns = (await client.query<{ name: string; column: string }>(IDENTITIES)).rows
      for (const { name, column } of columns) {
        const last = sequences[name]
        if (last === undefined || last < 1) continue
        await client.query('select setval(pg_get_serial_sequence($1, $2), $3)', [quoted(name), column, last])
      }
      await client.query('commit')
      client.release()
      await migrate(database)
      await database.destroy()
    },
    async abandon() {
      client.release(true)
      await database.destroy()
    },
  }
}

/** Makes sure that the database has no tables of this service afterwards. */
async function prepare(pool: pg.Pool, isReplacing: boolean): Promise<void> {
  const tables = await namesIn(pool, TABLES)
  const known = tables.filter((name) => name === 'user' || name === 'job')
  if (!isReplacing) {
    for (const table of known) {
      const { rowCount } = await pool.query(`select 1 from ${quoted(table)} limit 1`)
      if (rowCount === 0) continue
      throw new ConflictError('database_not_empty', 'The database is not empty: give --replace to remove what is in it')
    }
  }
  // Other programs may have tables in this schema, too. They do not count.
  if (!tables.includes('kysely_migration')) return
  const all = tables.map((name) => quoted(name)).join(', ')
  await pool.query(`drop table ${all} cascade`)
}

async function* rowsOf(client: pg.ClientBase, table: string): AsyncGenerator<CopiedRow[]> {
  const most = rowsAtOnce(table)
  await client.query(`declare copied no scroll cursor for select * from ${quoted(table)}`)
  try {
    for (;;) {
      const { rows } = await client.query<CopiedRow>(`fetch ${most} from copied`)
      if (rows.length > 0) yield rows
      if (rows.length < most) return
    }
  } finally {
    await client.query('close copied')
  }
}

async function insertRows(client: pg.ClientBase, table: string, rows: readonly CopiedRow[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  const most = Math.max(1, Math.floor(MAX_PARAMETERS / Math.max(1, columns.length)))
  for (let done = 0; done < rows.length; done += most) {
    const some = rows.slice(done, done + most)
    const values = some
      .map((_, row) => `(${columns.map((_, column) => `$${row * columns.length + column + 1}`).join(', ')})`)
      .join(', ')
    await client.query(
      `insert into ${quoted(table)} (${columns.map(quoted).join(', ')}) values ${values}`,
      some.flatMap((one) => columns.map((column) => one[column] ?? null)),
    )
  }
}

async function sequencesOf(client: pg.ClientBase): Promise<Record<string, number>> {
  const sequences: Record<string, number> = {}
  for (const { name, column } of (await client.query<{ name: string; column: string }>(IDENTITIES)).rows) {
    const { rows } = await client.query<{ last: number | null }>(
      'select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) as last',
      [quoted(name), column],
    )
    sequences[name] = Number(rows[0]?.last ?? 0)
  }
  return sequences
}

async function namesIn(client: pg.ClientBase | pg.Pool, statement: string): Promise<string[]> {
  return (await client.query<{ name: string }>(statement)).rows.map(({ name }) => name)
}

function unquoted(name: string): string {
  return name.replace(/^"(.*)"$/, '$1')
}
