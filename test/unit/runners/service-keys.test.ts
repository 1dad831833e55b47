import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import pino from 'pino'
import { MAX_SUCCESSIONS, fingerprintOf, publicKeyOf } from '@holdfast/protocol'
import { createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import type { Bus, BusListener } from '../../../control-plane/src/nodes/bus.js'
import type { BusMessage } from '../../../control-plane/src/nodes/messages.js'
import { openServiceKeys } from '../../../control-plane/src/runners/registration/service-keys.js'
import { listServiceKeys } from '../../../control-plane/src/store/runners/service-keys.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'

/** A node looks for the rotations of others this often. */
const LOOK_MS = 5000
const SECRET = 'the secret that the keys are stored with'

let folder: string
let store: Store
let time: number
const opened: { close(): Promise<void> }[] = []

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-service-keys-'))
  store = await openTestStore(folder)
  time = 1000
})
afterEach(async () => {
  for (const node of opened.splice(0)) await node.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The keys of one node of the service. */
async function openNode(secret = SECRET) {
  const held = heldTimers()
  const told: BusMessage[] = []
  const lines: { level: number; msg: string }[] = []
  const listeners = new Set<BusListener>()
  const bus: Bus = {
    publish: (message) => void told.push(message),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => Promise.resolve(),
  }
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[0]) })
  const clock = { now: () => time }
  const keys = await openServiceKeys({ store, clock, timers: held.timers, log, bus, box: createSecretBox(secret) })
  opened.push(keys)
  return { keys, held, told, listeners, errors: () => lines.filter(({ level }) => level >= 50) }
}

const rotation = { from: null, breakSuccession: false }

describe('the first start', () => {
  test('makes one key, and nodes that start later have the same one', async () => {
    const first = await openNode()
    const second = await openNode()
    expect(first.keys.view()).toMatchObject({ createdAt: 1000, previous: [] })
    expect(second.keys.view()).toEqual(first.keys.view())
    expect(await listServiceKeys(store.read)).toHaveLength(1)
    expect(second.keys.current()).toEqual(first.keys.current())
    expect(publicKeyOf(first.keys.current().privatePem)).toBe(first.keys.current().publicKey)
    expect(first.errors()).toEqual([])
  })

  test('with another secret than that of the key is an error in the log, and no runner can be greeted', async () => {
    await openNode()
    const other = await openNode('another secret')
    expect(other.errors()).toMatchObject([{ msg: expect.stringContaining('cannot be opened') as string }])
    expect(() => other.keys.current()).toThrow('The key of the service cannot be opened')
    await expect(other.keys.rotate(rotation, 'root')).rejects.toMatchObject({ code: 'service_key_closed' })
  })

  test('a key that was replaced behind the back of a node is no secret that cannot be opened', async () => {
    const { keys } = await openNode()
    await keys.rotate(rotation, 'root')
    await store.write('test', (queries) => queries.deleteFrom('service_key').where('signature', 'is', null).execute())
    await keys.refresh()
    expect(() => keys.current()).toThrow(/service key \d+ was replaced/)
  })

  test('a service that has lost all its keys says so', async () => {
    const { keys } = await openNode()
    await store.write('test', (queries) => queries.deleteFrom('service_key').execute())
    await expect(keys.refresh()).rejects.toThrow('the database has no service key')
  })
})

describe('a rotation', () => {
  test('gives a new key that the old one has signed, and removes the private half of the old one', async () => {
    const { keys, told } = await openNode()
    const old = keys.current()
    time = 2000
    const view = await keys.rotate(rotation, 'root')
    const fresh = keys.current()
    expect(view).toEqual({
      fingerprint: fingerprintOf(fresh.publicKey),
      createdAt: 2000,
      previous: [fingerprintOf(old.publicKey)],
    })
    expect(keys.view()).toEqual(view)
    expect(fresh.publicKey).not.toBe(old.publicKey)
    expect(publicKeyOf(fresh.privatePem)).toBe(fresh.publicKey)
    expect(fresh.succession).toEqual([{ key: old.publicKey, signature: expect.any(String) as string }])
    expect((await listServiceKeys(store.read)).map(({ privateKey }) => privateKey !== null)).toEqual([true, false])
    expect(told).toEqual([{ topic: 'service-key' }])
  })

  test('that breaks the succession forgets all earlier keys, and needs no secret of the old key', async () => {
    const { keys } = await openNode()
    await keys.rotate(rotation, 'root')
    const other = await openNode('another secret')
    const view = await other.keys.rotate({ from: null, breakSuccession: true }, 'root')
    expect(view.previous).toEqual([])
    expect(await listServiceKeys(store.read)).toHaveLength(1)
    expect(other.keys.current()).toMatchObject({ succession: [] })
  })

  test('of the key that the caller knows happens once, and of another one it is a conflict', async () => {
    const { keys } = await openNode()
    const { fingerprint: from } = keys.view()
    const once = await keys.rotate({ from, breakSuccession: false }, 'root')
    const again = keys.rotate({ from, breakSuccession: false }, 'root')
    await expect(again).rejects.toMatchObject({ code: 'service_key_changed' })
    expect(keys.view()).toEqual(once)
  })

  test('lists the earlier keys: the newest first for people, and the oldest first for runners', async () => {
    const { keys } = await openNode()
    const seen = [keys.current().publicKey]
    for (let count = 0; count < 2; count += 1) {
      await keys.rotate(rotation, 'root')
      seen.push(keys.current().publicKey)
    }
    const [first = '', second = ''] = seen
    expect(keys.current().succession.map(({ key }) => key)).toEqual([first, second])
    expect(keys.view().previous).toEqual([fingerprintOf(second), fingerprintOf(first)])
  })

  test(`keeps the last ${MAX_SUCCESSIONS} earlier keys`, async () => {
    const { keys } = await openNode()
    const first = keys.view().fingerprint
    for (let count = 0; count < MAX_SUCCESSIONS; count += 1) await keys.rotate(rotation, 'root')
    expect(keys.view().previous).toHaveLength(MAX_SUCCESSIONS)
    expect(keys.view().previous.at(-1)).toBe(first)
    await keys.rotate(rotation, 'root')
    expect(keys.view().previous).toHaveLength(MAX_SUCCESSIONS)
    expect(keys.view().previous).not.toContain(first)
    expect(await listServiceKeys(store.read)).toHaveLength(1 + MAX_SUCCESSIONS)
  })
})

describe('the rotation of another node', () => {
  type Node = Awaited<ReturnType<typeof openNode>>
  const bus = (here: Node) => [...here.listeners]

  test.each<[string, (here: Node) => void]>([
    ['is announced on the bus', (here) => bus(here).forEach((each) => each.received({ topic: 'service-key' }))],
    ['is looked for when messages were missed', (here) => bus(here).forEach((each) => each.missed())],
    ['is looked for now and then', (here) => here.held.move(LOOK_MS)],
  ])('%s', async (_, happen) => {
    const here = await openNode()
    const there = await openNode()
    here.keys.current()
    const { fingerprint } = await there.keys.rotate(rotation, 'root')
    expect(here.keys.view().fingerprint).not.toBe(fingerprint)
    happen(here)
    await waitFor('the new key', () => here.keys.view().fingerprint === fingerprint)
    expect(here.keys.current()).toEqual(there.keys.current())
  })

  test('is nothing that a message about something else makes a node look for', async () => {
    let reads = 0
    const real = store
    store = {
      ...real,
      get read() {
        reads += 1
        return real.read
      },
    }
    const here = await openNode()
    reads = 0
    for (const each of here.listeners) each.received({ topic: 'runner', runner: 1 })
    expect(reads).toBe(0)
    for (const each of here.listeners) each.received({ topic: 'service-key' })
    expect(reads).toBe(1)
  })

  test('that only forgets earlier keys is seen in what runners get', async () => {
    const here = await openNode()
    await here.keys.rotate(rotation, 'root')
    expect(here.keys.current().succession).toHaveLength(1)
    await store.write('test', (queries) => queries.deleteFrom('service_key').where('private_key', 'is', null).execute())
    await here.keys.refresh()
    expect(here.keys.current().succession).toEqual([])
  })

  test('is no concern of a node that has closed', async () => {
    const here = await openNode()
    expect(here.held.count()).toBe(1)
    expect(here.listeners.size).toBe(1)
    await here.keys.close()
    expect(here.held.count()).toBe(0)
    expect(here.listeners.size).toBe(0)
  })
})

test('the opened key is kept, so it is not decrypted for every runner', async () => {
  const { keys } = await openNode()
  expect(keys.current()).toBe(keys.current())
  await keys.refresh()
  const before = keys.current()
  await keys.refresh()
  expect(keys.current()).toBe(before)
})
