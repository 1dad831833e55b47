import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { pino } from 'pino'
import { PresentConnections } from '../../../control-plane/src/runners/registration/connections/present.js'
import { createRegistry } from '../../../control-plane/src/runners/registration/connections/registry.js'
import { createStatusWriter } from '../../../control-plane/src/runners/registration/connections/status-writer.js'
import { createTurnedAway } from '../../../control-plane/src/runners/registration/join/turned-away.js'
import type { AgentConnection } from '../../../control-plane/src/runners/socket/agent-connection.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { holdProcessTimers } from '../../support/held-process-timers.js'

/** A connection that notes what is done with it. */
function connectionOf(fingerprint: string, runnerId = 1, accepted = true) {
  const done: string[] = []
  const connection = {
    address: '10.0.0.1',
    accepted,
    runnerId,
    hello: { fingerprint },
    close: (reason: string) => void done.push(reason),
    socket: { cut: () => void done.push('cut') },
  } as unknown as AgentConnection
  return { connection, done }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

let timers: ReturnType<typeof holdProcessTimers>
function hold(): void {
  timers = holdProcessTimers()
}
function advance(milliseconds: number): Promise<unknown> {
  timers.advance(milliseconds)
  return settled()
}

describe('the registry', () => {
  test('finds the connection of exactly one row', () => {
    const registry = createRegistry()
    const { connection } = connectionOf('one', 7)
    registry.add(connection)
    expect(registry.of('one')).toBe(connection)
    expect(registry.of('two')).toBeNull()
    expect(registry.find({ id: 7, fingerprint: 'one' })).toBe(connection)
    expect(registry.find({ id: 8, fingerprint: 'one' })).toBeNull()
    expect(registry.all()).toEqual([connection])
  })

  test('a connection that a newer one replaced cannot remove it', () => {
    const registry = createRegistry()
    const [older, newer] = [connectionOf('one').connection, connectionOf('one').connection]
    registry.add(older)
    expect(registry.takeOut('one')).toBe(older)
    expect([registry.takeOut('one'), registry.all()]).toEqual([null, []])
    registry.add(newer)
    expect(registry.remove(older)).toBe(false)
    expect(registry.of('one')).toBe(newer)
    expect(registry.remove(newer)).toBe(true)
    expect(registry.remove(newer)).toBe(false)
    expect(registry.all()).toEqual([])
  })

  test('a connection without a row is neither found nor removed', () => {
    const registry = createRegistry()
    const { connection } = connectionOf('one', 7, false)
    expect(registry.remove(connection)).toBe(false)
    registry.add(connection)
    expect(registry.find({ id: 7, fingerprint: 'one' })).toBeNull()
  })
})

describe('with a held clock', () => {
  beforeEach(hold)
  afterEach(() => timers.release())

  test('a connection is closed when its hello does not come in time', () => {
    const present = new PresentConnections()
    const [late, quick] = [connectionOf('one'), connectionOf('two')]
    for (const { connection } of [late, quick]) present.greet(connection, 100)
    present.noLongerGreets(quick.connection)
    timers.advance(99)
    expect(late.done).toEqual([])
    timers.advance(1)
    expect([late.done, quick.done]).toEqual([['handshake_timeout'], []])
  })

  test('all are closed, and who stays is cut after its time', async () => {
    const present = new PresentConnections()
    const [one, stays] = [connectionOf('one'), connectionOf('two')]
    for (const { connection } of [one, stays]) present.add(connection)
    expect(present.size).toBe(2)
    let isOver = false
    const over = present.closeAll(100).then(() => (isOver = true))
    present.gone(one.connection)
    await advance(99)
    expect([one.done, stays.done, present.size]).toEqual([['going_away'], ['going_away'], 1])
    await advance(1)
    expect([one.done, stays.done, isOver]).toEqual([['going_away'], ['going_away', 'cut'], false])
    present.gone(stays.connection)
    await over
    expect(timers.count()).toBe(0)
  })

  test('closing ends at once when all have gone, and in the end without those that never go', async () => {
    const present = new PresentConnections()
    await present.closeAll(100)
    const [leaves, never] = [connectionOf('one'), connectionOf('two')]
    present.add(leaves.connection)
    const over = present.closeAll(100)
    present.gone(leaves.connection)
    await over
    expect([leaves.done, timers.count()]).toEqual([['going_away'], 0])
    present.add(never.connection)
    const given = present.closeAll(100)
    await advance(100)
    await advance(100)
    await given
    expect(present.size).toBe(1)
  })

  test('that too many strangers come is logged at most every ten seconds, with their number', () => {
    const logged: object[] = []
    const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line) as object) })
    const { turnAway, close } = createTurnedAway(log)
    const { connection, done } = connectionOf('one')
    for (let count = 0; count < 3; count += 1) turnAway(connection, 'checking')
    expect(done).toEqual(['too_many_waiting', 'too_many_waiting', 'too_many_waiting'])
    expect(logged).toMatchObject([{ ip: '10.0.0.1', stage: 'checking' }])
    timers.advance(10_000)
    expect(logged.slice(1)).toMatchObject([{ connections: 3 }])
    turnAway(connection, 'queued')
    timers.advance(10_000)
    expect(logged.slice(2)).toMatchObject([{ stage: 'queued' }])
    turnAway(connection, 'queued')
    close()
    expect(timers.count()).toBe(0)
  })
})

describe('the statuses of runners', () => {
  const STATUS = { runningJobs: 0, agentMaxJobs: 1, draining: false, spoolBytes: 0, clockSkewMs: 0, lastSeen: 1 }
  const QUIET = { urgent: false, visible: false }

  beforeEach(hold)
  afterEach(() => timers.release())

  /** A writer whose writes end when the test says so. */
  function writer() {
    const state = { writes: 0, changes: 0, fails: false, end: (): void => undefined }
    const logged: string[] = []
    const store = {
      write: () => {
        state.writes += 1
        if (state.fails) return Promise.reject(new Error('away'))
        return new Promise<void>((resolve) => (state.end = resolve))
      },
    } as unknown as Store
    const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
    return { state, logged, statuses: createStatusWriter({ store, log, changed: () => (state.changes += 1) }) }
  }

  test('are gathered for a second, and an urgent one is written at once', async () => {
    const { state, statuses } = writer()
    statuses.note(1, 1, STATUS, QUIET)
    statuses.note(2, 1, STATUS, QUIET)
    timers.advance(999)
    await settled()
    expect(state.writes).toBe(0)
    timers.advance(1)
    await settled()
    expect(state.writes).toBe(1)
    state.end()
    statuses.note(1, 1, STATUS, { urgent: true, visible: false })
    await settled()
    expect(state.writes).toBe(2)
    state.end()
    await settled()
    expect([state.changes, timers.count()]).toEqual([0, 0])
  })

  test('an urgent one takes the gathered ones with it, and nothing is written twice', async () => {
    const { state, statuses } = writer()
    statuses.note(1, 1, STATUS, QUIET)
    statuses.note(2, 1, STATUS, { urgent: true, visible: false })
    await settled()
    state.end()
    await settled()
    expect([state.writes, timers.count()]).toEqual([1, 0])
    timers.advance(2000)
    void statuses.close()
    await settled()
    expect(state.writes).toBe(1)
  })

  test('one write runs, one waits, and what people see is announced also when a later status is quiet', async () => {
    const { state, statuses } = writer()
    statuses.note(1, 1, STATUS, { urgent: true, visible: true })
    await settled()
    for (const visible of [true, false]) statuses.note(2, 1, STATUS, { urgent: true, visible })
    await settled()
    expect([state.writes, state.changes]).toEqual([1, 0])
    state.end()
    await settled()
    expect([state.writes, state.changes]).toEqual([2, 1])
    state.end()
    await settled()
    expect([state.writes, state.changes]).toEqual([2, 2])
  })

  test('a failed write is logged, and the next one is tried', async () => {
    const { state, logged, statuses } = writer()
    state.fails = true
    statuses.note(1, 1, STATUS, { urgent: true, visible: true })
    await settled()
    expect([state.changes, logged.length]).toEqual([0, 1])
    state.fails = false
    statuses.note(1, 1, STATUS, { urgent: true, visible: true })
    await settled()
    expect(state.writes).toBe(2)
  })

  test('closing writes what is left and takes nothing more', async () => {
    const { state, statuses } = writer()
    statuses.note(1, 1, STATUS, QUIET)
    let isClosed = false
    const closed = statuses.close().then(() => (isClosed = true))
    statuses.note(2, 1, STATUS, { urgent: true, visible: true })
    await settled()
    expect([state.writes, isClosed]).toEqual([1, false])
    state.end()
    await closed
    await settled()
    expect([state.writes, state.changes, timers.count()]).toEqual([1, 0, 0])
  })
})
