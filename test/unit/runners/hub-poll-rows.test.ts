import { mkdtempSync, rmSync } from 'node:fs'
import type { Store } from '../../../control-plane/src/store/store.js'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { BusListener } from '../../../control-plane/src/nodes/bus.js'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import { createKeyedQueue } from '../../../protocol/host/src/queues.js'
import { createRegistry } from '../../../control-plane/src/runners/registration/connections/registry.js'
import { createHubPoll } from '../../../control-plane/src/runners/registration/hub/poll.js'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { insertTestRunner } from '../../support/runner-rows.js'

/** A node that looks after the rows of its runners, over a database in which other nodes write. */
const NODE = 'this node'

async function createWatched(isShared = false) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-poll-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  const registry = createRegistry()
  const queue = createKeyedQueue()
  const state = { now: 0, isAway: false, refreshFails: false, looks: 0 }
  const refreshed: number[] = []
  const closed: string[] = []
  const logged: string[] = []
  const listeners = new Set<BusListener>()
  const poll = createHubPoll({
    store: {
      ...store,
      get read() {
        state.looks += 1
        if (state.isAway) throw new Error('the database is away')
        return store.read
      },
    } as Store,
    registry,
    queue,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) }),
    letGoMs: 1500,
    nodes: {
      ...SOLE_NODE,
      id: NODE,
      isShared,
      bus: {
        ...SOLE_NODE.bus,
        subscribe(listener) {
          listeners.add(listener)
          return () => void listeners.delete(listener)
        },
      },
    },
    refresh: (id) => {
      refreshed.push(id)
      return state.refreshFails ? Promise.reject(new Error('no')) : Promise.resolve()
    },
    steady: { now: () => state.now },
  })
  onTestFinished(async () => {
    await poll.close()
    await store.close()
    rmSync(folder, { recursive: true })
  })
  /** A runner with a socket here, and its row. */
  const addRunner = async (phase: 'waiting' | 'approved', name = 'edge') => {
    const row = await store.write('test', (queries) =>
      insertTestRunner(queries, { name, state: phase, enabled: 1, epoch: 3, connected_node: NODE }),
    )
    const connection = {
      hello: { fingerprint: row.fingerprint },
      runnerId: row.id,
      runner: row,
      phase,
      close: (reason: string) => void closed.push(reason),
    } as unknown as AgentConnection
    registry.add(connection)
    return { row, connection }
  }
  const nodeOf = async (id: number) => {
    const query = store.read.selectFrom('runner').select('connected_node').where('id', '=', id)
    return (await query.executeTakeFirstOrThrow()).connected_node
  }
  const change = (changes: object) =>
    store.write('test', (queries) => queries.updateTable('runner').set(changes).execute())
  return { poll, store, registry, queue, state, refreshed, closed, logged, listeners, addRunner, nodeOf, change }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('the row of a connected runner', () => {
  test.each([
    ['approved', {}, false],
    ['approved', { last_seen: 99, description: 'x' }, false],
    ['approved', { epoch: 4 }, true],
    ['approved', { enabled: 0 }, true],
    ['approved', { max_jobs: 5 }, true],
    ['approved', { state: 'revoked' }, true],
    ['waiting', {}, false],
    ['waiting', { state: 'approved' }, true],
  ] as const)('of an %s one is news when it has %o: %s', async (phase, changes, isNews) => {
    const watched = await createWatched()
    const { row } = await watched.addRunner(phase)
    if (Object.keys(changes).length > 0) await watched.change(changes)
    await watched.poll.poll()
    expect(watched.refreshed).toEqual(isNews ? [row.id] : [])
    expect(await watched.nodeOf(row.id)).toBe(NODE)
  })

  test('is news when it is gone', async () => {
    const { addRunner, poll, refreshed, store } = await createWatched()
    const { row } = await addRunner('approved')
    await store.write('test', (queries) => queries.deleteFrom('runner').execute())
    await poll.poll()
    expect(refreshed).toEqual([row.id])
  })
})

describe('a row that says a socket is here', () => {
  test('is corrected when there is none, and no other row is', async () => {
    const { addRunner, poll, registry, nodeOf, store, refreshed } = await createWatched()
    const here = await addRunner('approved', 'here')
    const lost = await addRunner('approved', 'lost')
    const elsewhere = await addRunner('approved', 'elsewhere')
    for (const { connection } of [lost, elsewhere]) registry.takeOut(connection.hello.fingerprint)
    await store.write('test', (queries) =>
      queries.updateTable('runner').set({ connected_node: 'another' }).where('id', '=', elsewhere.row.id).execute(),
    )
    await poll.poll()
    const nodes = await Promise.all([here, lost, elsewhere].map(({ row }) => nodeOf(row.id)))
    expect([nodes, refreshed]).toEqual([[NODE, null, 'another'], []])
  })

  test('is left alone when the runner has come meanwhile, here or elsewhere', async () => {
    const { addRunner, poll, queue, registry, nodeOf, store } = await createWatched()
    const back = await addRunner('approved', 'back')
    const moved = await addRunner('approved', 'moved')
    for (const { connection } of [back, moved]) registry.takeOut(connection.hello.fingerprint)
    let goOn = (): void => undefined
    const held = new Promise<void>((resolve) => (goOn = resolve))
    // What is before the correction in the queues of their keys.
    void queue.run(back.row.fingerprint, async () => {
      await held
      registry.add(back.connection)
    })
    void queue.run(moved.row.fingerprint, async () => {
      await held
      await store.write('test', (queries) =>
        queries.updateTable('runner').set({ connected_node: 'another' }).where('id', '=', moved.row.id).execute(),
      )
    })
    const polled = poll.poll()
    goOn()
    await polled
    expect([await nodeOf(back.row.id), await nodeOf(moved.row.id)]).toEqual([NODE, 'another'])
  })
})

describe('when it looks', () => {
  test('one look at a time, and later another one', async () => {
    const { poll, state } = await createWatched()
    await Promise.all([poll.poll(), poll.poll()])
    expect(state.looks).toBe(1)
    await poll.poll()
    expect(state.looks).toBe(2)
  })

  test('at the runner that another node names, and at all of them when that fails', async () => {
    const { listeners, refreshed, state } = await createWatched()
    const [listener] = listeners
    listener?.received({ topic: 'runner', runner: 7 })
    listener?.received({ topic: 'queued', runner: 8 })
    await settled()
    expect([refreshed, state.looks]).toEqual([[7], 0])
    state.refreshFails = true
    listener?.received({ topic: 'runner', runner: 9 })
    await settled()
    expect([refreshed, state.looks]).toEqual([[7, 9], 1])
  })

  test('every two seconds where there are other nodes, until it is closed', async () => {
    const timers = holdProcessTimers()
    onTestFinished(() => timers.release())
    const { poll, listeners, state } = await createWatched(true)
    const looksAfter = (milliseconds: number): number => {
      timers.advance(milliseconds)
      return state.looks
    }
    expect([looksAfter(1999), looksAfter(1)]).toEqual([0, 1])
    // It is the same look that has begun already.
    await poll.poll()
    expect([looksAfter(1999), looksAfter(1)]).toEqual([1, 2])
    await poll.close()
    expect([looksAfter(10_000), listeners.size, timers.count()]).toEqual([2, 0, 0])
  })

  test('never by itself where there are none', async () => {
    const timers = holdProcessTimers()
    onTestFinished(() => timers.release())
    const { state } = await createWatched(false)
    timers.advance(10_000)
    expect(state.looks).toBe(0)
  })

  test('closing waits for the look that has begun', async () => {
    const { addRunner, poll, queue, registry, nodeOf } = await createWatched()
    const { row, connection } = await addRunner('approved')
    registry.takeOut(connection.hello.fingerprint)
    let goOn = (): void => undefined
    void queue.run(row.fingerprint, () => new Promise<void>((resolve) => (goOn = resolve)))
    void poll.poll()
    const closed = poll.close()
    await settled()
    goOn()
    await closed
    expect(await nodeOf(row.id)).toBeNull()
  })
})

describe('without the database', () => {
  test('the log says so once, until it works again', async () => {
    const { listeners, poll, logged, state } = await createWatched()
    const look = async (isAway: boolean) => {
      state.isAway = isAway
      for (const { missed } of listeners) missed()
      await poll.poll().catch(() => undefined)
      await settled()
      return logged.length
    }
    expect([await look(true), await look(true), await look(false), await look(true)]).toEqual([1, 1, 1, 2])
  })

  test('runners are let go after more than its time, counted from the first look without an answer', async () => {
    const { addRunner, closed, listeners, poll, state } = await createWatched()
    await addRunner('approved')
    state.isAway = true
    const lookAfter = async (milliseconds: number) => {
      state.now += milliseconds
      for (const { missed } of listeners) missed()
      await poll.poll().catch(() => undefined)
      return closed
    }
    expect(await lookAfter(60_000)).toEqual([])
    expect(await lookAfter(1000)).toEqual([])
    expect(await lookAfter(500)).toEqual([])
    expect(await lookAfter(1)).toEqual(['going_away'])
  })
})
