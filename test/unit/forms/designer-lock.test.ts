import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  LOCK_SILENCE_MS,
  createDesignerLock,
  createLockExpiry,
} from '../../../control-plane/src/forms/designer-lock.js'
import { createLiveEvents } from '../../../control-plane/src/live/live-events.js'
import { deleteLock } from '../../../control-plane/src/store/service/locks.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

const ANN = { id: 1, name: 'local/ann' }
const BOB = { id: 2, name: 'local/bob' }
const folder = mkdtempSync(join(tmpdir(), 'holdfast-lock-'))
const live = createLiveEvents()
const told: string[] = []
live.subscribe((name) => told.push(name))
let now = 1_000_000_000
const clock = { now: () => now }

let store: Store
beforeAll(async () => {
  store = await openTestStore(folder)
})
afterAll(async () => {
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  await store.write('test.free', (queries) => deleteLock(queries, 'designer'))
  told.length = 0
})
const lock = () => createDesignerLock({ store, live, clock })

test('a free lock is taken, and others are told so; the holder keeps it since then', async () => {
  expect(await lock().read()).toBeNull()
  const takenAt = now
  expect(await lock().take(ANN)).toEqual({ holder: 'local/ann', holderId: 1, takenAt, touchedAt: takenAt })
  expect(told).toEqual(['designer'])
  now += 1000
  expect(await lock().take(ANN)).toEqual({ holder: 'local/ann', holderId: 1, takenAt, touchedAt: now })
  expect(await lock().read()).toEqual({ holder: 'local/ann', holderId: 1, takenAt, touchedAt: now })
  expect(told).toEqual(['designer'])
})

test('a lock of another is neither taken nor released, and who holds it is said', async () => {
  const taken = await lock().take(ANN)
  const refusal = { code: 'lock_held', message: 'local/ann holds the lock', details: { holder: 'local/ann' } }
  await expect(lock().take(BOB)).rejects.toMatchObject(refusal)
  await expect(lock().release(BOB)).rejects.toMatchObject(refusal)
  expect(await lock().read()).toEqual(taken)
  expect(told).toEqual(['designer'])
})

test('a released lock is free at once, and a free one cannot be released', async () => {
  await lock().take(ANN)
  told.length = 0
  expect(await lock().release(ANN)).toBe(true)
  expect(told).toEqual(['designer'])
  expect(await lock().read()).toBeNull()
  expect(await lock().release(ANN)).toBe(false)
  expect(told).toEqual(['designer'])
  expect(await lock().take(BOB)).toMatchObject({ holderId: 2 })
})

test('after ten minutes without a request another takes the lock, and not a moment earlier', async () => {
  await lock().take(ANN)
  now += LOCK_SILENCE_MS - 1
  await expect(lock().take(BOB)).rejects.toMatchObject({ code: 'lock_held' })
  now += 1
  expect(await lock().take(BOB)).toMatchObject({ holderId: 2, takenAt: now })
})

test('the silence of a holder is told once, by the node that sees it first', async () => {
  const timers = { after: () => () => undefined, every: () => () => undefined }
  const newNode = () => createLockExpiry({ store, live, clock, timers, log: { warn: () => undefined } })
  const nodes = [newNode(), newNode()]
  await lock().take(ANN)
  told.length = 0
  now += LOCK_SILENCE_MS - 1
  for (const node of nodes) await node.sweep()
  expect(told).toEqual([])
  now += 1
  for (const node of nodes) await node.sweep()
  expect(told).toEqual(['designer'])
  await lock().take(BOB)
  told.length = 0
  now += LOCK_SILENCE_MS
  await Promise.all(nodes.map((node) => node.sweep()))
  expect(told).toEqual(['designer'])
  for (const node of nodes) await node.close()
})
