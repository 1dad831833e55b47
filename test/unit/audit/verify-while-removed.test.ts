import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createAuditChain } from '../../../control-plane/src/audit/chain.js'
import { verifyChain } from '../../../control-plane/src/audit/verify-chain.js'
import { deleteAuditBefore } from '../../../control-plane/src/store/audit/audit-chain.js'
import { insertAudit } from '../../../control-plane/src/store/audit/audit.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
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

/** The database, in which something happens after each look at the ends of the chain. */
function whenLookedAt(happens: (look: number) => Promise<unknown>): Queries {
  let looks = 0
  return store.read.withPlugin({
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (result.rows[0] && 'anchor_position' in result.rows[0]) await happens((looks += 1))
      return result
    },
  })
}

test('records that retention removes while they are verified are no problem', async () => {
  const queries = whenLookedAt(async (look) => {
    if (look > 1) return
    await store.write('test', (inside) => deleteAuditBefore(inside, { time: NOW - 1500, now: NOW, most: 10 }))
  })
  expect(await verifyChain(queries)).toMatchObject({ isWhole: true, problem: null, first: 3, head: { position: 3 } })
})

test('a problem is told at once while nothing is removed, and after five tries in any case', async () => {
  await store.write('test', (queries) =>
    queries.updateTable('audit').set({ user_name: 'eve' }).where('position', '=', 2).execute(),
  )
  let looks = 0
  const quiet = whenLookedAt((look) => Promise.resolve((looks = look)))
  expect(await verifyChain(quiet)).toMatchObject({
    isWhole: false,
    problem: expect.stringMatching(/position 2 .* was changed/) as string,
  })
  expect(looks).toBe(2)
  // Somebody moves the beginning all the time.
  const moving = whenLookedAt(async (look) => {
    looks = look
    if (look % 2 === 0) return
    await store.write('test', (queries) => queries.updateTable('audit_chain').set({ anchor_position: -look }).execute())
  })
  expect(await verifyChain(moving)).toMatchObject({ isWhole: false })
  expect(looks).toBe(10)
})
