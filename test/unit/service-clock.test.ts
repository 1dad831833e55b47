import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createServiceClock } from '../../control-plane/src/nodes/service-clock.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { openTestStore } from '../support/test-database.js'

const HOUR = 3_600_000

describe('the service clock', () => {
  let folder: string
  let store: Store
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-clock-'))
    store = await openTestStore(folder)
  })
  afterEach(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  /** A node with a clock of its own, which somebody moves. */
  function node(start: number, given: Store = store) {
    const steady = { at: start, now: () => steady.at }
    const clock = createServiceClock({ store: given, steady })
    return {
      look: () => clock.look(),
      pass: (ms: number) => void (steady.at += ms),
    }
  }

  test('counts the time between looks, and only a little of a pause', async () => {
    const one = node(5)
    const start = await one.look()
    one.pass(1000)
    expect(await one.look()).toBe(start + 1000)
    one.pass(HOUR)
    expect(await one.look()).toBe(start + 3000)
    // A new start knows nothing of the time before it.
    expect(await node(2 * HOUR).look()).toBe(start + 3000)
  })

  test('counts no time twice, with any number of nodes and any clocks', async () => {
    const nodes = [node(0), node(7 * HOUR), node(-7 * HOUR)]
    const start = await (nodes[0] as ReturnType<typeof node>).look()
    let time = start
    for (let second = 0; second < 30; second += 1) {
      for (const one of nodes) one.pass(1000)
      for (const [index, one] of nodes.entries()) if (second < 20 || index > 0) time = await one.look()
    }
    expect(time - start).toBeLessThanOrEqual(30_000)
    // Another one goes on when the first looks no more.
    expect(time - start).toBeGreaterThanOrEqual(28_000)
  })

  test('never counts the time in which the database cannot be written', async () => {
    let isAway = false
    const write: Store['write'] = (name, operation) =>
      isAway ? Promise.reject(new Error('the database is away')) : store.write(name, operation)
    const one = node(0, { ...store, write })
    const start = await one.look()
    isAway = true
    one.pass(1500)
    await expect(one.look()).rejects.toThrow('away')
    isAway = false
    one.pass(1500)
    expect(await one.look()).toBe(start)
    one.pass(500)
    expect(await one.look()).toBe(start + 500)
  })
})
