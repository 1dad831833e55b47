import { encodeFrame, ProtocolError, type SealedChannel, type ServerMessage } from '@holdfast/protocol'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { WebSocket } from 'ws'
import { AgentConnection, type ConnectionOwner } from '../../../control-plane/src/runners/socket/agent-connection.js'
import type { RunnerCapacity, RunnerSession } from '../../../control-plane/src/runners/socket/connection.js'
import type { Handshake } from '../../../control-plane/src/runners/socket/handshake.js'
import { reportedStatus } from '../../../control-plane/src/runners/socket/reported.js'
import type { Runner } from '../../../control-plane/src/store/runners/runners.js'
import { EventEmitter } from 'node:events'
import { FakeSocket } from './opened-socket.js'

/** One connection, from its challenge to its end. The handshake, the hub and the session are the test's. */
const ROW = {
  id: 7,
  name: 'seven',
  fingerprint: 'SHA256:seven',
  sealingKey: 'sealing key',
  state: 'waiting',
  enabled: true,
  maxJobs: null,
  epoch: 3,
  runningJobs: 0,
  agentMaxJobs: 10,
  draining: false,
  spoolBytes: 0,
  clockSkewMs: 0,
  lastSeen: 1,
} as unknown as Runner
const APPROVED: Runner = { ...ROW, state: 'approved' }
const STATUS = { type: 'status', running_jobs: 1, max_jobs: 10, draining: false, spool_bytes: 0, clock: 0 }
const INVENTORY = { type: 'inventory', jobs: [] }

/** Nothing is hidden: the tests are about what is said. A text is what begins like an object. */
const CHANNEL = {
  seal: (message: string | Buffer) => Buffer.from(message),
  open: (bytes: Buffer) => (bytes[0] === 0x7b ? bytes.toString() : bytes),
} as unknown as SealedChannel

/** A session that notes what it is told. */
class NotingSession implements RunnerSession {
  readonly heard: string[] = []
  readonly capacities: RunnerCapacity[] = []
  message: RunnerSession['message'] = ({ type }) => void this.heard.push(type)
  frame: RunnerSession['frame'] = ({ payload }) => void this.heard.push(`frame ${payload.toString()}`)
  closed = () => void this.heard.push('closed')
  capacityChanged(capacity: RunnerCapacity): void {
    this.capacities.push(capacity)
  }
}

function connected(given: { openSession?: (connection: AgentConnection) => void } = {}) {
  const fake = new FakeSocket()
  const network = Object.assign(new EventEmitter(), { bytesRead: 0 })
  const told: string[] = []
  const sessions: NotingSession[] = []
  const handshake = {
    challenge: 'the challenge',
    answer(message: string | Buffer) {
      if (message !== '{"type":"greeting"}') throw new ProtocolError('bad_message', 'no greeting')
      return { message: { type: 'proof' }, channel: CHANNEL }
    },
    readHello: () => ({
      payload: { contract: 1 },
      fingerprint: 'SHA256:seven',
      ancestors: ['SHA256:six', 'SHA256:five'],
    }),
  } as unknown as Handshake
  const owner: ConnectionOwner = {
    log: pino({ level: 'silent' }),
    heartbeatMs: 5000,
    openSession(connection, capacity) {
      const session = new NotingSession()
      session.capacityChanged(capacity)
      sessions.push(session)
      given.openSession?.(connection as AgentConnection)
      return session
    },
    proven: () => void told.push('proven'),
    reported: (_, message) => reportedStatus(message, 0),
    ended: () => void told.push('ended'),
    gone: () => void told.push('gone'),
  }
  const connection = new AgentConnection(owner, fake as unknown as WebSocket, network, '10.0.0.1', handshake)
  const say = (message: object | Buffer, binary = true) =>
    fake.emit('message', Buffer.isBuffer(message) ? message : Buffer.from(JSON.stringify(message)), binary)
  const sent = () => fake.sent.slice(2).map(({ data }) => JSON.parse(data.toString()) as ServerMessage)
  return {
    connection,
    fake,
    network,
    told,
    sessions,
    say,
    sent,
    endedBecause: () => connection.socket.endedBecause,
    /** Challenge, greeting, proof and hello. */
    greet() {
      connection.challenge()
      say({ type: 'greeting' }, false)
      say({ type: 'hello' })
    },
  }
}

/** A connection that was accepted with this row. */
function accepted(row: Runner, given: Parameters<typeof connected>[0] = {}) {
  const one = connected(given)
  one.greet()
  one.connection.accept(row)
  return one
}

const frame = (epoch: number, text: string) =>
  encodeFrame({
    kind: 'stream',
    stream: 'output',
    final: false,
    epoch,
    jobId: 1,
    offset: 0,
    payload: Buffer.from(text),
  })

describe('the handshake', () => {
  test('goes from the challenge over the proof to the hello, and reading waits for the decision', () => {
    const { connection, fake, network, told, say } = connected()
    connection.challenge()
    expect([connection.phase, connection.proven, connection.accepted]).toEqual(['challenged', false, false])
    say({ type: 'greeting' }, false)
    expect(connection.phase).toBe('greeting')
    expect(fake.sent.map(({ data }) => data)).toEqual(['the challenge', '{"type":"proof"}'])
    say({ type: 'hello' })
    expect([connection.phase, connection.proven, connection.accepted]).toEqual(['deciding', true, false])
    expect([told, fake.done, network.listenerCount('data')]).toEqual([['proven'], ['pause'], 0])
  })

  test('a greeting that breaks the contract ends the connection with that reason', () => {
    const { connection, endedBecause, told, say } = connected()
    connection.challenge()
    say({ type: 'something else' }, false)
    expect([endedBecause(), told, connection.phase]).toEqual(['bad_message', ['ended'], 'ended'])
  })

  test('nobody asks who it is before it has said so', () => {
    const { connection } = connected()
    expect(() => connection.hello).toThrow('no hello')
    expect(() => connection.runner).toThrow('not accepted')
    expect(() => connection.status).toThrow('not accepted')
  })

  test('100 messages may come before the decision, and are handled in their order after it', () => {
    const { connection, sessions, greet, say } = connected()
    greet()
    for (let count = 0; count < 99; count += 1) say(frame(3, String(count)))
    say(INVENTORY)
    expect(connection.socket.ended).toBe(false)
    connection.accept(APPROVED)
    const { heard = [] } = sessions[0] ?? {}
    expect([heard.length, heard[0], heard[98], heard[99]]).toEqual([100, 'frame 0', 'frame 98', 'inventory'])
    say(INVENTORY)
    expect(heard).toHaveLength(101)
  })

  test('the 101st ends the connection', () => {
    const { endedBecause, greet, say } = connected()
    greet()
    for (let count = 0; count < 100; count += 1) say(INVENTORY)
    expect(endedBecause()).toBeNull()
    say(INVENTORY)
    expect(endedBecause()).toBe('before_handshake')
  })
})

describe('being accepted', () => {
  test('an approved runner gets its welcome and a session, and is read', () => {
    const { connection, fake, sessions, sent } = accepted({ ...APPROVED, maxJobs: 4 })
    const welcome = { type: 'welcome', state: 'approved', epoch: 3, max_jobs: 4, heartbeat_ms: 5000 }
    expect(sent()).toMatchObject([welcome])
    expect([connection.phase, connection.accepted, fake.done]).toEqual(['approved', true, ['pause', 'resume']])
    expect(sessions.map(({ capacities }) => capacities)).toEqual([[{ enabled: true, draining: false, maxJobs: 4 }]])
    connection.accept(APPROVED)
    expect([sent().length, sessions.length]).toEqual([1, 1])
  })

  test('a waiting one gets no session', () => {
    const { connection, sessions, sent } = accepted(ROW)
    expect(sent()).toMatchObject([{ type: 'welcome', state: 'waiting' }])
    expect([connection.phase, sessions]).toEqual(['waiting', []])
  })

  test('one that has gone meanwhile gets nothing', () => {
    const { connection, fake, sessions, sent, greet } = connected()
    greet()
    fake.emit('close')
    connection.accept(APPROVED)
    expect([sent(), sessions, connection.phase]).toEqual([[], [], 'ended'])
  })

  test('it is known by its row, its present key and those before it', () => {
    const { connection } = accepted(APPROVED)
    const { runnerId, runnerName, fingerprint, sealingKey, epoch, keys } = connection
    expect({ runnerId, runnerName, fingerprint, sealingKey, epoch }).toEqual({
      runnerId: 7,
      runnerName: 'seven',
      fingerprint: 'SHA256:seven',
      sealingKey: 'sealing key',
      epoch: 3,
    })
    expect(keys).toEqual(['SHA256:seven', 'SHA256:six', 'SHA256:five'])
  })

  test('a session that ends its connection at once is closed, too', () => {
    const { sessions, told } = accepted(APPROVED, { openSession: (one) => one.close('revoked', 'for the test') })
    expect([sessions[0]?.heard, told]).toEqual([['closed'], ['proven', 'ended']])
  })

  test('a session that cannot be opened ends the connection', () => {
    const { endedBecause } = accepted(APPROVED, {
      openSession: () => {
        throw new Error('no')
      },
    })
    expect(endedBecause()).toBe('internal_error')
  })
})

describe('another row', () => {
  const endOf = (before: Runner, after: Runner | null) => {
    const { connection, endedBecause } = accepted(before)
    connection.apply(after)
    return endedBecause()
  }

  test.each([
    ['of a waiting runner is gone', ROW, null, 'rejected'],
    ['of an approved runner is gone', APPROVED, null, 'removed'],
    ['is revoked', APPROVED, { ...APPROVED, state: 'revoked' }, 'revoked'],
    ['is denied', ROW, { ...ROW, state: 'denied' }, 'denied'],
    ['has a later connection', APPROVED, { ...APPROVED, epoch: 4 }, 'taken_over'],
    ['has this connection', APPROVED, APPROVED, null],
    ['has an earlier connection, as it was read before', APPROVED, { ...APPROVED, epoch: 2 }, null],
  ] as const)('that %s ends the connection, or not', (_, before, after, reason) => {
    expect(endOf(before, after as Runner | null)).toBe(reason)
  })

  test('an approval reaches the agent and opens the session, once', () => {
    const { connection, sessions, sent } = accepted(ROW)
    connection.apply(ROW)
    expect(sent()).toHaveLength(1)
    connection.apply({ ...APPROVED, maxJobs: 2 })
    connection.apply({ ...APPROVED, maxJobs: 2 })
    expect(sent().slice(1)).toEqual([{ type: 'settings', state: 'approved', max_jobs: 2 }])
    expect([connection.phase, sessions.length]).toEqual(['approved', 1])
  })

  test('another limit reaches the agent, and whatever may be offered reaches the session', () => {
    const { connection, sessions, sent } = accepted(APPROVED)
    const { capacities = [] } = sessions[0] ?? {}
    connection.apply({ ...APPROVED, maxJobs: 3 })
    expect(sent().slice(1)).toEqual([{ type: 'settings', state: 'approved', max_jobs: 3 }])
    connection.apply({ ...APPROVED, maxJobs: 3, enabled: false })
    connection.apply({ ...APPROVED, maxJobs: 3, enabled: false })
    expect(sent()).toHaveLength(2)
    expect(capacities.slice(1)).toEqual([
      { enabled: true, draining: false, maxJobs: 3 },
      { enabled: false, draining: false, maxJobs: 3 },
    ])
  })

  test('a limit of a waiting runner reaches it as that of a waiting one', () => {
    const { connection, sent } = accepted(ROW)
    connection.apply({ ...ROW, maxJobs: 3 })
    expect(sent().slice(1)).toEqual([{ type: 'settings', state: 'waiting', max_jobs: 3 }])
  })

  test('before the decision and after the end no row changes anything', () => {
    const early = connected()
    early.greet()
    early.connection.apply(null)
    expect(early.endedBecause()).toBeNull()
    const { connection, fake, sent } = accepted(APPROVED)
    fake.emit('close')
    connection.apply({ ...APPROVED, maxJobs: 3 })
    expect(sent()).toHaveLength(1)
  })
})

describe('what an accepted runner says', () => {
  test('the status of a waiting one counts, and everything else breaks the contract', () => {
    const { connection, endedBecause, say } = accepted(ROW)
    expect(connection.status.runningJobs).toBe(0)
    say(STATUS)
    expect([connection.status.runningJobs, endedBecause()]).toEqual([1, null])
    say(INVENTORY)
    expect(endedBecause()).toBe('not_approved')
  })

  test('messages and frames of this connection reach the session, and frames of another one do not', () => {
    const { sessions, say, endedBecause } = accepted(APPROVED)
    say(INVENTORY)
    for (const epoch of [2, 3, 4]) say(frame(epoch, String(epoch)))
    expect([sessions[0]?.heard, endedBecause()]).toEqual([['inventory', 'frame 3'], null])
  })

  test('a status that changes what may be offered reaches the session, and no other', () => {
    const { sessions, say } = accepted(APPROVED)
    say(STATUS)
    say({ ...STATUS, draining: true })
    say({ ...STATUS, draining: true, running_jobs: 5 })
    expect(sessions[0]?.capacities.slice(1)).toEqual([{ enabled: true, draining: true, maxJobs: 10 }])
  })

  test('an error over one message ends this connection: a broken contract with its reason, a fault as a fault', () => {
    const over = (error: Error) => {
      const { sessions, say, endedBecause } = accepted(APPROVED)
      const [session] = sessions
      if (session) {
        session.message = () => {
          throw error
        }
      }
      say(INVENTORY)
      return endedBecause()
    }
    expect(over(new ProtocolError('not_yours', 'a job of another'))).toBe('not_yours')
    expect(over(new Error('a fault'))).toBe('internal_error')
  })

  test('an approved one may say more at once than a waiting one', () => {
    const [waiting, approved] = [accepted(ROW), accepted(APPROVED)]
    for (let count = 0; count < 200; count += 1) for (const { say } of [waiting, approved]) say(STATUS)
    expect([waiting.endedBecause(), approved.endedBecause()]).toEqual(['too_many_messages', null])
  })

  test('reading may wait for the session', () => {
    const { connection, fake } = accepted(APPROVED)
    connection.pause()
    connection.resume()
    expect(fake.done.slice(2)).toEqual(['pause', 'resume'])
  })

  test('blobs leave in frames, from the byte on that was asked for', async () => {
    const { connection, fake } = accepted(APPROVED)
    async function* source(): AsyncGenerator<Buffer> {
      yield Buffer.from('cd')
    }
    const before = fake.sent.length
    await connection.sendBlob('a'.repeat(64), 4, source(), 2)
    const expected = { kind: 'blob', sha256: 'a'.repeat(64), offset: 2, size: 4, payload: Buffer.from('cd') } as const
    expect(fake.sent.slice(before)).toEqual([{ data: encodeFrame(expected), binary: true }])
  })
})

describe('the end', () => {
  test('closes the session once, and what still comes is ignored', () => {
    const { connection, fake, sessions, told, say } = accepted(APPROVED)
    connection.close('revoked', 'for the test')
    say(INVENTORY)
    fake.emit('close')
    expect(sessions[0]?.heard).toEqual(['closed'])
    expect([told, connection.phase, connection.accepted]).toEqual([['proven', 'ended', 'gone'], 'ended', true])
  })

  test('a session that fails over its end keeps nobody from hearing of it', () => {
    const { fake, sessions, told } = accepted(APPROVED)
    const [session] = sessions
    if (session) {
      session.closed = () => {
        throw new Error('a fault')
      }
    }
    fake.emit('close')
    expect(told).toEqual(['proven', 'ended', 'gone'])
  })
})
