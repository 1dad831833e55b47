import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { insertAudit, listAudit } from '../../../control-plane/src/store/audit/audit.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'

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

test('opening a database again changes nothing', async () => {
  for (let count = 0; count < 3; count += 1) {
    const store = await openSqliteStore(path)
    await store.check()
    await store.write('test', (queries) => insertAudit(queries, ENTRY))
    expect(await listAudit(store.read, {}, 10)).toHaveLength(count + 1)
    await store.close()
  }
})

test('a new database has the rows with which the chain of the audit trail and the service clock begin', async () => {
  const store = await openSqliteStore(path)
  const nothing = '0'.repeat(64)
  expect(await store.read.selectFrom('audit_chain').selectAll().execute()).toEqual([
    { id: 1, head_position: 0, head_hash: nothing, anchor_position: 0, anchor_hash: nothing },
  ])
  expect(await store.read.selectFrom('service_clock').selectAll().execute()).toEqual([
    { id: 1, time: 1_000_000_000_000_000, turn: 0 },
  ])
  await store.close()
})
