import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, expect, test } from 'vitest'
import { insertAudit, listAudit } from '../../control-plane/src/store/audit.js'
import { openSqliteStore } from '../../control-plane/src/store/sqlite-store.js'
import { findUserByName, insertUser } from '../../control-plane/src/store/users.js'

let path: string
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-migrations-'))
  path = join(folder, 'test.db')
  return () => rm(folder, { recursive: true })
})

const USER = {
  username: 'ann',
  type: 'local',
  passwordHash: null,
  email: null,
  groups: [],
  enabled: true,
  createdAt: 1,
}
const ENTRY = {
  ...{ time: 1, user: null, address: '::1', action: 'job.abort', status: 200, requestId: 'r' },
  object: { kind: 'job', id: '1', name: null },
}

test('a database of the first release is brought up to date when it is opened, and keeps what is in it', async () => {
  const old = await openSqliteStore(path)
  await old.write('test', async (queries) => {
    await insertUser(queries, USER)
    // As the first release left it.
    for (const text of [
      'drop table audit',
      'drop index job_end',
      'alter table session drop column token_hash',
      `delete from kysely_migration where name <> '001-initial'`,
    ]) {
      await sql.raw(text).execute(queries)
    }
  })
  await expect(old.check()).rejects.toMatchObject({ code: 'schema_not_upgraded' })
  await old.close()

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
