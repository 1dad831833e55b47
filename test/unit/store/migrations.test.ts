import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Kysely, Migrator, sql } from 'kysely'
import sqlite3 from 'sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { insertAudit, listAudit } from '../../../control-plane/src/store/audit/audit.js'
import * as initial from '../../../control-plane/src/store/migrations/001-initial.js'
import * as accounts from '../../../control-plane/src/store/migrations/003-accounts.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { createSqliteDialect } from '../../../control-plane/src/store/sqlite/sqlite-dialect.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import { createStatements } from '../../../control-plane/src/store/sqlite/sqlite-statements.js'
import { findUserByName } from '../../../control-plane/src/store/accounts/users.js'

let path: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrations-'))
  path = join(folder, 'test.db')
  return () => rm(folder, { recursive: true })
})

const ENTRY = {
  time: 1,
  user: null,
  address: '::1',
  action: 'job.abort',
  status: 200,
  requestId: 'r',
  object: { kind: 'job', id: '1', name: null },
}

/** A database as an older release left it: only these steps were done. */
async function oldDatabase(steps: Record<string, { up(database: Kysely<unknown>): Promise<void> }>): Promise<void> {
  const handle = createStatements(await opened(path))
  const database = new Kysely<Database>({ dialect: createSqliteDialect([handle]) })
  const { error } = await new Migrator({
    db: database,
    provider: { getMigrations: () => Promise.resolve(steps) },
  }).migrateToLatest()
  if (error) throw new Error('the old database could not be made', { cause: error })
  await sql`insert into ${sql.table('user')} (username, username_key, type, groups, enabled, created_at)
    values ('ann', 'ann', 'local', '[]', 1, 1)`.execute(database)
  await handle.close()
}

function opened(file: string): Promise<sqlite3.Database> {
  return new Promise((resolve, reject) => {
    const handle = new sqlite3.Database(file, (error) => (error ? reject(error) : resolve(handle)))
  })
}

test.each([
  ['the first release', { '001-initial': initial }],
  ['a release that had a later step before an earlier one', { '001-initial': initial, '003-accounts': accounts }],
])('a database of %s is brought up to date when it is opened, and keeps its content', async (_what, steps) => {
  await oldDatabase(steps)
  const store = await openSqliteStore(path)
  await store.check()
  expect(await findUserByName(store.read, 'local', 'ann')).toMatchObject({ username: 'ann' })
  await store.write('test', (queries) => insertAudit(queries, ENTRY))
  expect(await listAudit(store.read, {}, 10)).toMatchObject([ENTRY])
  await store.close()
})

test('opening it again changes nothing', async () => {
  for (let count = 0; count < 3; count += 1) {
    const store = await openSqliteStore(path)
    await store.check()
    await store.write('test', (queries) => insertAudit(queries, ENTRY))
    expect(await listAudit(store.read, {}, 10)).toHaveLength(count + 1)
    await store.close()
  }
})
