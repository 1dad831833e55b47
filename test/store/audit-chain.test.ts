import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { createAuditChain } from '../../control-plane/src/audit/chain.js'
import { type AuditEntry, completeAudit, insertAudit, listAudit } from '../../control-plane/src/store/audit/audit.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'

const NOW = 1_700_000_000_000
const entry = (status: number | null): AuditEntry => ({
  time: NOW - 3_600_000,
  user: null,
  address: '127.0.0.1',
  action: 'job.launch',
  status,
  requestId: 'r',
  object: { kind: 'job', id: '1', name: null },
})
const cleanups: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

test('a record that was given up is chained as it is, when it is completed while it is chained', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-audit-'))
  cleanups.push(() => rmSync(folder, { recursive: true }))
  const store = await openTestStore(folder)
  cleanups.push(() => store.close())
  const id = await store.write('test', (queries) => insertAudit(queries, entry(null)))
  let isFirst = true
  // The answer of the request comes between the look at the record and the write that chains it.
  const racing: Store = {
    ...store,
    async write(name, operation) {
      if (name === 'audit.chain' && isFirst) {
        isFirst = false
        await store.write('test', (queries) => completeAudit(queries, id, entry(200)))
      }
      return store.write(name, operation)
    },
  }
  const timers = { after: () => () => undefined, every: () => () => undefined }
  const log = { warn: () => undefined }
  const chain = createAuditChain({ store: racing, clock: { now: () => NOW }, timers, log })
  cleanups.push(() => chain.close())

  await chain.sweep()

  expect(await listAudit(store.read, {}, 10)).toMatchObject([{ id, status: 200, position: 1 }])
  expect(await chain.verify()).toMatchObject({ isWhole: true, unchained: 0 })
})
