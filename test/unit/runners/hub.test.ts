import { EventEmitter } from 'node:events'
import { randomBytes } from 'node:crypto'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { closeReasonOf } from '@holdfast/protocol'
import type { Bus, BusListener } from '../../../control-plane/src/nodes/bus.js'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import type { HubLimits } from '../../../control-plane/src/runners/registration/hub-options.js'
import { createRunnerHub } from '../../../control-plane/src/runners/registration/hub/hub.js'
import { insertRunner, listRunners } from '../../../control-plane/src/store/runners/runners.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'
import { TEST_SERVICE_SOURCE } from '../../support/service-identity.js'
import { waitFor } from '../../support/wait.js'
import { FakeSocket } from './opened-socket.js'

/** The hub looks for left requests this often, and a request stays for so long after its runner has left. */
const SWEEP_MS = 15_000
const GRACE_MS = 60_000
const NOW = 1_000_000

let timers: ReturnType<typeof holdProcessTimers>
beforeEach(() => {
  timers = holdProcessTimers()
})
afterEach(() => timers.release())

/** A hub on a database of its own, in which somebody may have put something before. */
async function opened(
  limits: Partial<HubLimits> = {},
  prepare: (queries: Queries) => Promise<unknown> = async () => {},
) {
  const queries = await memoryDatabase()
  await prepare(queries)
  const told: string[] = []
  const listeners = new Set<BusListener>()
  const bus: Bus = {
    publish: (message) => void told.push(JSON.stringify(message)),
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close: () => Promise.resolve(),
  }
  const steady = { ms: 0, now: () => steady.ms }
  let reads = 0
  const store = {
    get read() {
      reads += 1
      return queries
    },
    write: (_: string, task: (queries: Queries) => unknown) => Promise.resolve(task(queries)),
  }
  const hub = createRunnerHub({
    store: store as unknown as Store,
    clock: { now: () => NOW },
    random: randomBytes,
    live: { changed: (name) => void told.push(`changed ${name}`), subscribe: () => () => undefined },
    log: pino({ level: 'silent' }),
    version: '1',
    service: TEST_SERVICE_SOURCE,
    openSession: () => {
      throw new Error('nobody is approved here')
    },
    nodes: { ...SOLE_NODE, isShared: true, bus },
    steady,
    limits: { graceMs: GRACE_MS, ...limits },
  })
  const sockets: FakeSocket[] = []
  return {
    hub,
    queries,
    told,
    steady,
    listeners,
    reads: () => reads,
    accept(address: string): FakeSocket {
      const fake = new FakeSocket()
      sockets.push(fake)
      hub.accept(fake as unknown as WebSocket, address, Object.assign(new EventEmitter(), { bytesRead: 0 }))
      return fake
    },
    /** Closes the hub, and then each socket, as the other sides do. */
    async close() {
      const closing = hub.close()
      for (const fake of sockets) fake.emit('close')
      await closing
    },
  }
}

/** Why a socket was closed; null: it is open. */
function closedFor({ done }: FakeSocket) {
  const code = done.find((what) => what.startsWith('close '))?.slice('close '.length)
  return code === undefined ? null : closeReasonOf(Number(code))
}

/** A request whose runner has left. */
const left = (queries: Queries, name: string, lastSeen: number) =>
  insertRunner(queries, { ...RUNNER_ROW, name, fingerprint: name, state: 'waiting', enabled: 0, last_seen: lastSeen })

describe('a hub that is closed', () => {
  test('leaves no timer and listens to nobody', async () => {
    const { accept, close, listeners } = await opened({ mostUnproven: 1 })
    const first = accept('10.0.0.1')
    accept('10.0.0.2')
    // It is said in a while how many had to go.
    expect(closedFor(first)).toBe('too_many_waiting')
    expect(timers.count()).toBeGreaterThan(0)
    expect(listeners.size).toBeGreaterThan(0)
    await close()
    expect(timers.count()).toBe(0)
    expect(listeners.size).toBe(0)
  })

  test('tells its sockets and every later one that the control plane stops', async () => {
    const { accept, close, hub } = await opened()
    const before = accept('10.0.0.1')
    expect(hub.counts()).toEqual({ sockets: 1, online: 0 })
    await close()
    expect(closedFor(before)).toBe('going_away')
    expect(hub.counts()).toEqual({ sockets: 0, online: 0 })
    const after = accept('10.0.0.1')
    expect([closedFor(after), after.sent]).toEqual(['going_away', []])
    after.emit('close')
    await hub.close()
  })
})

describe('requests whose runners have left', () => {
  test('are removed after their time, and every node and page hears of it', async () => {
    const { hub, queries, told, close } = await opened()
    const old = await left(queries, 'old', NOW - GRACE_MS - 1)
    await left(queries, 'young', NOW)
    await hub.sweep()
    expect((await listRunners(queries)).map(({ name }) => name)).toEqual(['young'])
    expect(told).toEqual([JSON.stringify({ topic: 'runner', runner: old.id }), 'changed runners'])
    await hub.sweep()
    expect(told).toHaveLength(2)
    await close()
  })

  test('are looked for every 15 seconds, but not before runners had their time to come back after a start', async () => {
    const { queries, steady, close, reads } = await opened()
    await left(queries, 'old', 0)
    steady.ms = GRACE_MS - 1
    timers.advance(SWEEP_MS - 1)
    const polled = reads()
    timers.advance(1)
    expect(reads()).toBe(polled)
    steady.ms = GRACE_MS
    timers.advance(SWEEP_MS)
    await waitFor('the request to go', async () => (await listRunners(queries)).length === 0)
    await close()
  })
})

describe('an address from which an approved runner came', () => {
  const known = (queries: Queries) => insertRunner(queries, { ...RUNNER_ROW, ip: '10.0.0.1' })
  /** Connections of three addresses where two have a place: the first one has the longest wait. */
  const crowd = (accept: (address: string) => FakeSocket) =>
    ['10.0.0.1', '10.0.1.2', '10.0.2.3'].map(accept).map(closedFor)
  const limits = { mostUnproven: 2, reserveOfKnownAddress: 5 }

  test('keeps its place from the start on', async () => {
    const { accept, close } = await opened(limits, known)
    await waitFor('the hub to read which addresses are known', () => crowd(accept)[0] === null)
    await close()
  })

  test('has its place after the next sweep when another node approved it', async () => {
    const { accept, close, hub, queries } = await opened(limits)
    expect(crowd(accept)[0]).toBe('too_many_waiting')
    await known(queries)
    await hub.sweep()
    await close()
    const other = await opened(limits)
    await known(other.queries)
    await other.hub.sweep()
    expect(crowd(other.accept)[0]).toBeNull()
    await other.close()
  })
})
