import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuditChain } from '../../../control-plane/src/audit/chain.js'
import { verifyChain } from '../../../control-plane/src/audit/verify-chain.js'
import { deleteAuditUpTo } from '../../../control-plane/src/store/audit/audit-chain.js'
import { insertAudit } from '../../../control-plane/src/store/audit/audit.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

const NOW = 1_700_000_000_000

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-verify-chain-'))
  store = await openTestStore(folder)
  for (const time of [NOW - 3000, NOW - 2000, NOW - 1000]) {
    await store.write('test', (queries) =>
      insertAudit(queries, {
        time,
        user: null,
        address: '127.0.0.1',
        action: 'job.launch',
        status: 200,
        requestId: 'r',
        object: { kind: 'job', id: '1', name: null },
      }),
    )
  }
  const timers = { after: () => () => undefined, every: () => () => undefined }
  const chain = createAuditChain({ store, clock: { now: () => NOW }, timers, log: { warn: () => undefined } })
  await chain.sweep()
  await chain.close()
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

test('records that retention removes while they are verified are no problem', async () => {
  let looks = 0
  const queries = store.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      // After the first look at the ends of the chain.
      if (result.rows[0] && 'anchor_position' in result.rows[0] && (looks += 1) === 1)
        await store.write('test', (inside) => deleteAuditUpTo(inside, 2, 10))
      return result
    },
  })
  expect(await verifyChain(queries)).toMatchObject({ isWhole: true, problem: null, first: 3, head: { position: 3 } })
})
