import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SOLE_NODE, createSharedNode, isElsewhere } from '../../control-plane/src/nodes/nodes.js'
import { createPresence } from '../../control-plane/src/nodes/presence.js'
import { listNodes } from '../../control-plane/src/store/service/nodes.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { heldTimers } from '../api/held-timers.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

const LOOK_MS = 2000

let folder: string
let store: Store
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-presence-'))
  store = await openTestStore(folder)
  now = 1_000_000
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

/** A node whose timers and database the test holds. */
function node(id: string) {
  const held = heldTimers()
  const warned: string[] = []
  const said: string[] = []
  let isAway = false
  let looks = 0
  const write: Store['write'] = (name, operation) => {
    if (name === 'nodes.beat') looks += 1
    return isAway ? Promise.reject(new Error('the database is away')) : store.write(name, operation)
  }
  const presence = createPresence({
    store: { ...store, write },
    clock: { now: () => now },
    timers: held.timers,
    log: { info: (_, text) => void said.push(text), warn: (_, text) => void warned.push(text) },
    id,
    version: '1',
  })
  return { presence, held, warned, said, looks: () => looks, away: (is: boolean) => void (isAway = is) }
}
const ids = async () => (await listNodes(store.read)).map(({ id }) => id)

describe('a node', () => {
  test('is there from its start to its end, and looks every two seconds in between', async () => {
    const { presence, held, looks } = node('a')
    expect(await ids()).toEqual([])
    await presence.start('host:1')
    expect(await listNodes(store.read)).toMatchObject([
      { id: 'a', version: '1', address: 'host:1', started_at: now, last_seen: now },
    ])
    expect([looks(), held.count()]).toEqual([1, 1])
    now += LOOK_MS
    held.move(LOOK_MS - 1)
    expect(looks()).toBe(1)
    held.move(1)
    await waitFor('the look', async () => (await listNodes(store.read))[0]?.last_seen === now)
    await presence.close()
    expect([await ids(), held.count()]).toEqual([[], 0])
  })

  test('that was not started has nothing to remove, and one that was closed is closed', async () => {
    const { presence } = node('a')
    await presence.close()
    const other = node('b')
    await other.presence.start('host:2')
    await other.presence.close()
    await other.presence.look()
    await other.presence.close()
    expect(await ids()).toEqual(['b'])
  })

  test('takes the place of the one that had its address', async () => {
    await node('a').presence.start('host:1')
    await node('b').presence.start('host:2')
    await node('c').presence.start('host:1')
    expect(await ids()).toEqual(['b', 'c'])
  })

  test('comes back by itself when the others have forgotten it', async () => {
    const { presence } = node('a')
    await presence.start('host:1')
    await store.write('test', (queries) => queries.deleteFrom('node').execute())
    await presence.look()
    expect(await ids()).toEqual(['a'])
  })

  test('that cannot look says so once, until it can look again, and leaves its row at its end', async () => {
    const { presence, held, warned, away } = node('a')
    await presence.start('host:1')
    const looked = async () => {
      held.move(LOOK_MS)
      await presence.look().catch(() => undefined)
      await new Promise((resolve) => setImmediate(resolve))
    }
    away(true)
    await looked()
    await looked()
    expect(warned).toEqual(['this node could not look after the others; it tries again'])
    away(false)
    await looked()
    away(true)
    await looked()
    expect(warned).toHaveLength(2)
    away(false)
    await presence.close()
    expect(await ids()).toEqual(['a'])
  })

  test('shares a look that runs with who asks meanwhile', async () => {
    const { presence, looks } = node('a')
    await presence.start('host:1')
    const both = [presence.look(), presence.look()]
    await Promise.all(both)
    expect([both[0] === both[1], looks()]).toEqual([true, 2])
    await presence.look()
    expect(looks()).toBe(3)
  })
})

describe('the other nodes', () => {
  test('all count as alive before the first look, and afterwards those that move', async () => {
    const { presence } = node('a')
    expect([presence.isAlive('a'), presence.isAlive('b')]).toEqual([true, true])
    await presence.start('host:1')
    expect([presence.isAlive('a'), presence.isAlive('b'), presence.counts()]).toEqual([
      true,
      false,
      { alive: 1, dead: 0 },
    ])
    await node('b').presence.start('host:2')
    await presence.look()
    expect([presence.isAlive('b'), presence.counts()]).toEqual([true, { alive: 2, dead: 0 }])
    let changes = 0
    presence.onChange(() => void (changes += 1))
    for (let look = 0; look < 4; look += 1) await presence.look()
    expect([presence.isAlive('b'), presence.counts(), changes]).toEqual([false, { alive: 1, dead: 1 }, 1])
  })

  test('that were dead for an hour are removed', async () => {
    const { presence } = node('a')
    await presence.start('host:1')
    await node('b').presence.start('host:2')
    for (let look = 0; look < 1800; look += 1) await presence.look()
    expect(await ids()).toEqual(['a', 'b'])
    await presence.look()
    expect(await ids()).toEqual(['a'])
  })
})

test('a runner is elsewhere when another node that works has its socket', async () => {
  const closed: string[] = []
  const shared = createSharedNode({
    store,
    clock: { now: () => now },
    timers: heldTimers().timers,
    log: { info: () => undefined, warn: () => undefined },
    random: (bytes) => Buffer.alloc(bytes, 7),
    version: '1',
    openPost: () => ({ send: () => Promise.resolve(), close: () => Promise.resolve(void closed.push('post')) }),
  })
  expect([shared.id, shared.isShared]).toEqual(['07'.repeat(8), true])
  const at = (connectedNode: string | null) => isElsewhere(shared, { connectedNode })
  expect([at(null), at(shared.id), at('other')]).toEqual([false, false, true])
  await shared.start('host:1')
  expect([at('other'), shared.counts()]).toEqual([false, { alive: 1, dead: 0 }])
  await shared.close()
  expect([closed, await ids()]).toEqual([['post'], []])
  // Alone, there is no other node.
  expect([SOLE_NODE.isShared, SOLE_NODE.isAlive('sole'), SOLE_NODE.isAlive('other')]).toEqual([false, true, false])
  expect(isElsewhere(SOLE_NODE, { connectedNode: 'other' })).toBe(false)
})
