import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { createAuditChain } from '../../../control-plane/src/audit/chain.js'
import { createAuditExport } from '../../../control-plane/src/audit/export.js'
import { type AuditEntry, insertAudit } from '../../../control-plane/src/store/audit/audit.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

const MINUTE = 60_000
/** No sweep runs by itself. */
const timers = { after: () => () => undefined, every: () => () => undefined }
const log = { warn: () => undefined, info: () => undefined }

let folder: string
let store: Store
let now = 1_700_000_000_000
const clock = { now: () => now }
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-audit-export-'))
  store = await openTestStore(folder)
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function addChained(count: number): Promise<void> {
  const who = { user: null, address: '127.0.0.1', action: 'job.launch', status: 200, requestId: 'r' }
  const entry: AuditEntry = { ...who, time: now, object: { kind: 'job', id: '1', name: null } }
  await store.write('test', async (queries) => {
    for (let number = 0; number < count; number += 1) await insertAudit(queries, entry)
  })
  const chain = createAuditChain({ store, clock, timers, log })
  onTestFinished(() => chain.close())
  await chain.sweep()
}

/** A node that sends to one place, as long as that is there. */
function node(holder: string) {
  const place = { positions: [] as number[], isAway: false }
  const send = (lines: readonly string[]) => {
    if (place.isAway) return Promise.reject(new Error('it is away'))
    place.positions.push(...lines.map((line) => (JSON.parse(line) as { position: number }).position))
    return Promise.resolve()
  }
  const made = createAuditExport({ store, clock, timers, log, holder, targets: [{ name: 'file', send }] })
  onTestFinished(() => made.close())
  return { place, sweep: () => made.sweep() }
}

test('each record is sent once and in order, however many there are', async () => {
  await addChained(401)
  const { place, sweep } = node('one')
  await sweep()
  await sweep()
  expect(place.positions).toEqual(Array.from({ length: 401 }, (_, index) => index + 1))
})

test('a place is left to the node that sends to it, until that has been quiet for long', async () => {
  await addChained(1)
  const one = node('one')
  one.place.isAway = true
  await one.sweep()
  // A node looks as soon as it is made.
  const other = node('other')
  now += 1000
  await other.sweep()
  expect(other.place.positions).toEqual([])
  now += MINUTE
  await other.sweep()
  expect(other.place.positions).toEqual([1])
})
