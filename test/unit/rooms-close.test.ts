import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { composeAudit } from '../../control-plane/src/audit/compose.js'
import type { Ground } from '../../control-plane/src/ground/ground.js'
import { createPartsOwner } from '../../protocol/host/src/parts-owner.js'
import { composeNotifications } from '../../control-plane/src/notifications/compose.js'
import { parseHostRules } from '../../control-plane/src/sources/address-rules.js'
import { findDelivery, insertDelivery } from '../../control-plane/src/store/service/notification-deliveries.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { composeUploads } from '../../control-plane/src/uploads/compose.js'
import { heldTimers } from '../api/held-timers.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

let folder: string
let store: Store
let held: ReturnType<typeof heldTimers>
let owner: ReturnType<typeof createPartsOwner>
let ground: Ground
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-rooms-'))
  store = await openTestStore(folder)
  held = heldTimers()
  owner = createPartsOwner()
  const clock = { now: () => 1_700_000_000_000 }
  const log = pino({ level: 'silent' })
  ground = { clock, steady: clock, timers: held.timers, random: randomBytes, log, onClose: owner.onClose }
})
afterEach(async () => {
  await owner.close()
  await store.close()
  rmSync(folder, { recursive: true })
})

const REQUEST = { address: '127.0.0.1', action: 'test.change', kind: 'test', requestId: 'r' }
const audit = (auditFile: string | null) =>
  composeAudit(ground, { auditReads: false, auditFile, auditSyslog: null, auditRetentionMs: null }, store)

describe('the audit trail', () => {
  test.each([
    ['is kept here only', null, 2],
    ['is sent to a file, too', 'audit.jsonl', 3],
  ])('that %s stops everything at its close', async (_what, name, timers) => {
    audit(name === null ? null : join(folder, name))
    expect(held.count()).toBe(timers)
    await owner.close()
    expect(held.count()).toBe(0)
  })

  test('stores the records of answered requests before it is closed', async () => {
    const { trail } = audit(null)
    trail.begin(REQUEST).finish(204)
    await owner.close()
    expect(await store.read.selectFrom('audit').select('status').execute()).toEqual([{ status: 204 }])
  })

  test('reaches its file by itself', async () => {
    const path = join(folder, 'audit.jsonl')
    const { trail, chain } = audit(path)
    trail.begin(REQUEST).finish(204)
    await trail.allStored()
    await chain.sweep()
    held.move(2000)
    const lines = () => {
      try {
        return readFileSync(path, 'utf8').split('\n').length - 1
      } catch {
        return 0
      }
    }
    await waitFor('the line', () => lines() === 1)
  })
})

test('notifications stop everything at their close, and wait for what is under way', async () => {
  const rules = parseHostRules('')
  const settings = {
    publicUrl: null,
    webhookAddresses: { allowed: rules, denied: rules, words: { allowed: 'A', denied: 'D', who: 'webhooks' } },
    mail: null,
    notificationRunnerLostMs: 1000,
    notificationRetentionMs: null,
  }
  const box = { seal: () => Buffer.alloc(0), open: () => '' }
  const nodes = { isAlive: () => true }
  const { outbox, canMail } = composeNotifications(ground, settings, {
    store,
    nodes,
    box,
    meter: () => undefined,
  })
  expect([canMail, held.count()]).toEqual([false, 2])
  await owner.close()
  expect(held.count()).toBe(0)
  // What is due now waits for the next start.
  const delivery = {
    uid: 'u',
    lane: 'mail',
    targetId: null,
    recipient: 'ann@example.com',
    event: 'job.ended',
    eventAt: 1,
    jobId: null,
    subject: null,
    body: '',
  }
  const id = await store.write('test', (queries) => insertDelivery(queries, delivery, 1))
  await outbox.look()
  expect(await findDelivery(store.read, id)).toMatchObject({ state: 'waiting', attempts: 0 })
})

test('uploads stop their sweeps at their close', async () => {
  const settings = { uploadPath: join(folder, 'uploads'), uploadMaxBytes: 0, uploadQuotas: { ofUser: 0, ofAll: 0 } }
  const freeBytes = () => Promise.resolve(2 ** 40)
  await composeUploads(ground, settings, { store, freeBytes })
  expect(held.count()).toBe(1)
  await owner.close()
  expect(held.count()).toBe(0)
})

test('parts are closed in the reverse order, all of them, and the first error is told', async () => {
  const closed: string[] = []
  const { onClose, close } = createPartsOwner()
  for (const name of ['one', 'two', 'three']) {
    onClose(() => {
      closed.push(name)
      return name === 'one' ? Promise.resolve() : Promise.reject(new Error(`${name} fails`))
    })
  }
  await expect(close()).rejects.toThrow('three fails')
  expect(closed).toEqual(['three', 'two', 'one'])
  await close()
  expect(closed).toHaveLength(3)
})
