import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createServiceClock } from '../../control-plane/src/nodes/service-clock.js'
import { createLastSeen } from '../../control-plane/src/runners/dispatch/last-seen.js'
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

describe('the silence of a runner', () => {
  test('counts while this control plane looks, and again from 0 after a time in which it could not', () => {
    let now = 0
    const seen = createLastSeen({ now: () => now }, 120_000)
    const looks = (count: number) => {
      for (let look = 0; look < count; look += 1) {
        now += 1000
        seen.looked()
      }
      return seen.silentFor(1)
    }
    seen.looked()
    seen.note(1)
    expect(looks(100)).toBe(100_000)
    // Suspended, or without its database.
    now += HOUR
    seen.looked()
    expect(seen.silentFor(1)).toBe(0)
    expect(looks(119)).toBe(119_000)
  })

  test('begins when the runner was seen last, and not at the look before', () => {
    let now = 0
    const seen = createLastSeen({ now: () => now }, 1000)
    seen.looked()
    now += 900
    seen.note(1)
    now += 100
    seen.looked()
    expect(seen.silentFor(1)).toBe(100)
    // After a long pause only a part of it counts, and so it does for what was seen in it.
    now += 5000
    seen.note(2)
    now += 2000
    seen.looked()
    expect([seen.silentFor(1), seen.silentFor(2)]).toEqual([2100, 0])
  })

  test('counts after such a time only when an agent had enough time to dial again', () => {
    let now = 0
    const seen = createLastSeen({ now: () => now }, 1000)
    seen.looked()
    seen.note(1)
    now += HOUR
    for (let look = 0; look < 30; look += 1) {
      now += 1000
      seen.looked()
      expect(seen.silentFor(1)).toBe(0)
    }
  })
})
