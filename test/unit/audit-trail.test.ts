import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { type AuditTrail, createAuditTrail } from '../../control-plane/src/audit/trail.js'
import { openSqliteStore } from '../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Store } from '../../control-plane/src/store/store.js'

const REQUEST = { address: '127.0.0.1', action: 'test.change', kind: 'test', requestId: 'r' }

/** A trail over a real database, whose writes wait while `hold` says so. */
async function trailThatWaits() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-audit-trail-'))
  const real = await openSqliteStore(join(folder, 'holdfast.db'))
  onTestFinished(async () => {
    await real.close()
    rmSync(folder, { recursive: true })
  })
  let go = (): void => undefined
  let held: Promise<void> = Promise.resolve()
  const write: Store['write'] = async (name, operation) => {
    await held
    return real.write(name, operation)
  }
  const log = { error: () => undefined }
  const trail = createAuditTrail({ store: { ...real, write }, clock: { now: () => 1 }, log })
  const statuses = async () => {
    const rows = await real.read.selectFrom('audit').select('status').orderBy('id').execute()
    return rows.map(({ status }) => status)
  }
  const hold = (): void => {
    held = new Promise((resolve) => (go = resolve))
  }
  return { trail, statuses, hold, go: () => go() }
}

/** What settles first: the promise, or everything that this process has to do now. */
const isSettled = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => true), new Promise<false>((resolve) => setImmediate(() => resolve(false)))])

test.each([
  ['readers wait', (trail: AuditTrail) => trail.allStored()],
  ['the end waits', (trail: AuditTrail) => trail.close()],
])('%s for the records of all requests that were answered', async (_, waiting) => {
  const { trail, statuses, hold, go } = await trailThatWaits()
  hold()
  trail.begin(REQUEST).finish(204)
  const record = trail.begin(REQUEST)
  record.finish(403)
  record.finish(500)
  const all = waiting(trail)
  expect(await isSettled(all)).toBe(false)
  go()
  await all
  expect(await statuses()).toEqual([204, 403])
  // Nothing waits any more.
  expect(await isSettled(trail.allStored())).toBe(true)
})
