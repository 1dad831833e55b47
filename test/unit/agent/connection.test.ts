import { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { CLOSE_REASONS, encodeFrame, ProtocolError, type ServerMessage } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { holdClock } from '../../agent/held-clock.js'
import { heldConnection } from './held-socket.js'

/** One connection over a socket that the test holds: what it does with what comes, and how it ends. */
const { bad_frame, bad_message, bad_seal, going_away, internal_error } = CLOSE_REASONS
const BLOB = encodeFrame({ kind: 'blob', sha256: '0'.repeat(64), offset: 0, size: 6, payload: Buffer.from('a part') })
const STREAM = encodeFrame({
  kind: 'stream',
  epoch: 5,
  jobId: 1,
  stream: 'output',
  offset: 0,
  final: false,
  payload: Buffer.from('text'),
} as never)
const WORK: ServerMessage = { type: 'forget', job_id: 1, run_id: 'a'.repeat(32) }
const WELCOME: ServerMessage = {
  type: 'welcome',
  state: 'approved',
  epoch: 5,
  max_jobs: null,
  heartbeat_ms: 1000,
  speaks: 1,
}
const PROOF: ServerMessage = { type: 'proof', payload: 'p', signature: 's' }

test('the handshake goes from the challenge to the welcome, and then work comes', () => {
  const { socket, connection, told, greet, take, takeSealed, takeFrame } = heldConnection()
  greet()
  expect(socket.done).toEqual(['send greeting for challenge'])
  take(PROOF)
  const hello = JSON.stringify({ type: 'hello', payload: 'p', signature: 's' })
  expect(socket.done.slice(1)).toEqual([`send sealed ${hello}`])
  expect([connection.open, connection.epoch]).toEqual([false, 0])
  takeSealed(WELCOME)
  expect([connection.open, connection.epoch, told]).toEqual([true, 5, ['welcome 5 true']])
  takeSealed(WORK)
  takeFrame(BLOB)
  expect(told.slice(1)).toEqual(['message forget', 'blob a part'])
})

type Held = ReturnType<typeof heldConnection>
const frame = (bytes: Buffer) => (held: Held) => void held.socket.emit('message', bytes, true)

describe('a connection is closed because of', () => {
  test.each<[string, (held: Held) => void, { code: number }, string]>([
    ['a frame in place of the challenge', frame(BLOB), bad_frame, 'a frame came before the proof'],
    ['work before the proof', (held) => (held.greet(), held.take(WORK)), bad_message, 'forget came at the wrong time'],
    ['a welcome before the proof', (held) => (held.greet(), held.take(WELCOME)), bad_message, 'welcome came at'],
    ['a second challenge', (held) => (held.greet(), held.greet()), bad_message, ''],
    ['a message that is not sealed', (held) => (held.prove(), held.take(WELCOME)), bad_seal, 'that is not sealed'],
    ['work before the welcome', (held) => (held.prove(), held.takeSealed(WORK)), bad_message, 'forget came at'],
    ['a second proof', (held) => (held.prove(), held.takeSealed(PROOF)), bad_message, 'proof came at the wrong time'],
    ['a proof after the welcome', (held) => (held.welcome(), held.takeSealed(PROOF)), bad_message, 'proof came at'],
    ['a second welcome', (held) => (held.welcome(), held.takeSealed(WELCOME)), bad_message, 'welcome came at'],
    ['a part of a file before the welcome', (held) => (held.prove(), held.takeFrame(BLOB)), bad_frame, 'no blob'],
    ['a piece of a stream', (held) => (held.welcome(), held.takeFrame(STREAM)), bad_frame, 'a frame that is no blob'],
  ])('%s', (_, act, { code }, words) => {
    const held = heldConnection()
    act(held)
    const last = held.socket.done.at(-1) ?? ''
    expect(last).toContain(`close ${code} `)
    expect(last).toContain(words)
    expect([held.connection.open, held.told.filter((one) => !one.startsWith('welcome'))]).toEqual([false, []])
  })

  test('a fault of this program, which the log names', async () => {
    const { socket, connection, trouble, welcome, takeSealed } = heldConnection()
    welcome()
    trouble.in = new TypeError('it is undefined')
    takeSealed(WORK)
    expect(socket.done.at(-1)).toBe(`close ${internal_error.code} ${internal_error.meaning}`)
    socket.end(internal_error.code)
    expect(await connection.ended).toMatchObject({
      reason: 'internal_error',
      text: expect.stringMatching(/this agent failed over a message: TypeError: it is undefined\n +at /) as string,
    })
  })

  test('something that was thrown and is no error', async () => {
    const { socket, connection, trouble, welcome, takeSealed } = heldConnection()
    welcome()
    trouble.in = 'some words'
    takeSealed(WORK)
    socket.end(internal_error.code)
    expect((await connection.ended).text).toBe('this agent failed over a message: some words')
  })

  test('a breach that the work itself found', () => {
    const { socket, trouble, welcome, takeSealed } = heldConnection()
    welcome()
    trouble.in = new ProtocolError('too_large', 'it is too large')
    takeSealed(WORK)
    expect(socket.done.at(-1)).toBe(`close ${CLOSE_REASONS.too_large.code} it is too large`)
  })
})

test('a closed connection takes nothing more', () => {
  const { socket, connection, told, welcome, takeSealed, takeFrame } = heldConnection()
  welcome()
  connection.close('going_away')
  told.length = 0
  const before = socket.done.length
  takeSealed(WORK)
  takeFrame(BLOB)
  takeFrame(STREAM)
  expect([told, socket.done.length]).toEqual([[], before])
})

test('the pieces in which a message came are put together', () => {
  const { socket, told, welcome } = heldConnection()
  welcome()
  const bytes = Buffer.from(`sealed ${JSON.stringify(WORK)}`)
  socket.emit('message', [bytes.subarray(0, 9), bytes.subarray(9)], true)
  const copy = new ArrayBuffer(bytes.length)
  new Uint8Array(copy).set(bytes)
  socket.emit('message', copy, true)
  expect(told.slice(1)).toEqual(['message forget', 'message forget'])
})

describe('what the agent sends', () => {
  test('is sealed, and nothing goes out before the proof or after the end', () => {
    const { socket, connection, greet, take } = heldConnection()
    const status = { type: 'unknown_job', job_id: 1, run_id: 'r' } as const
    greet()
    connection.send(status)
    expect(socket.done).toHaveLength(1)
    take(PROOF)
    connection.send(status)
    expect(socket.done.at(-1)).toBe(`send sealed ${JSON.stringify(status)}`)
    const before = socket.done.length
    socket.readyState = WebSocket.CLOSING
    connection.send(status)
    connection.ping()
    expect(socket.done).toHaveLength(before)
    socket.readyState = WebSocket.OPEN
    connection.ping()
    expect(socket.done.at(-1)).toBe('ping')
  })

  test('has the epoch of the connection in its frames, and says when a frame has left', () => {
    const { socket, connection, welcome } = heldConnection()
    welcome()
    let flushed = 0
    const piece = { jobId: 1, stream: 'output', offset: 0, final: false, payload: Buffer.from('text') }
    connection.sendFrame(piece as never, () => (flushed += 1))
    expect([socket.done.at(-1), flushed]).toEqual([`send frame of ${STREAM.length}`, 1])
    expect(connection.bufferedBytes()).toBe(7)
  })
})

test('a connection is open from its welcome to the end of its socket', () => {
  const { socket, connection, greet, take, takeSealed } = heldConnection()
  const open: boolean[] = []
  const look = (): void => void open.push(connection.open)
  for (const act of [greet, () => take(PROOF), () => takeSealed(WELCOME)]) {
    look()
    act()
  }
  look()
  socket.readyState = WebSocket.CLOSING
  look()
  expect(open).toEqual([false, false, false, true, false])
})

describe('the end of a connection', () => {
  test.each<[string, number, string, object]>([
    ['a close of the control plane', going_away.code, 'it restarts', { reason: 'going_away', text: 'it restarts' }],
    ['one without words', going_away.code, '', { reason: 'going_away', text: going_away.meaning }],
    ['a code that nobody knows', 4999, '', { reason: null, text: 'closed with code 4999' }],
    ['a lost network', 1006, '', { reason: null, text: 'closed with code 1006' }],
  ])('after %s names its reason', async (_, code, text, expected) => {
    const { socket, connection, welcome } = heldConnection()
    welcome()
    socket.end(code, text)
    expect(await connection.ended).toEqual({ welcomed: true, proven: true, ...expected })
    expect(connection.open).toBe(false)
  })

  test('says how far the handshake came', async () => {
    const [greeted, proven] = [heldConnection(), heldConnection()]
    greeted.greet()
    greeted.socket.end(1006)
    expect(await greeted.connection.ended).toMatchObject({ welcomed: false, proven: false })
    proven.prove()
    proven.socket.end(1006)
    expect(await proven.connection.ended).toMatchObject({ welcomed: false, proven: true })
  })

  test.each([
    [Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }), 'ECONNREFUSED; nothing listens there'],
    [new Error('socket hang up'), /^socket hang up$/],
    [new Error(''), /^the connection failed$/],
  ])('after an error of the network (%s) names it, and what can be done about it', async (error, words) => {
    const { socket, connection } = heldConnection()
    socket.emit('error', error)
    socket.end(1006)
    const { reason, text } = await connection.ended
    expect(reason).toBeNull()
    if (typeof words === 'string') expect(text).toContain(words)
    else expect(text).toMatch(words)
  })

  test('that the agent wanted has its own words, and is not waited for longer than a second', async () => {
    const clock = holdClock({ timers: true })
    const { socket, connection, ends, welcome } = heldConnection()
    welcome()
    connection.close('going_away', 'new keys')
    expect(socket.done.at(-1)).toBe(`close ${going_away.code} new keys`)
    clock.move(999)
    expect(socket.done.at(-1)).toContain('close')
    clock.move(1)
    expect(socket.done.at(-1)).toBe('terminate')
    expect(await connection.ended).toMatchObject({ reason: 'going_away', text: 'new keys' })
    expect([ends.length, clock.count()]).toEqual([1, 0])
  })

  test('leaves no timer and no watch behind', async () => {
    const clock = holdClock({ timers: true })
    for (const far of ['greet', 'prove', 'welcome'] as const) {
      const { socket, connection, ...acts } = heldConnection()
      acts[far]()
      expect(clock.count()).toBe(1)
      socket.end(1006)
      await connection.ended
      expect(clock.count()).toBe(0)
    }
  })
})

describe('the time of a connection', () => {
  test('ends it when the handshake is not complete after 15 seconds', async () => {
    const clock = holdClock({ timers: true })
    const { socket, connection, prove } = heldConnection()
    prove()
    clock.move(14_999)
    expect(socket.done).not.toContain('terminate')
    clock.move(1)
    expect(socket.done.at(-1)).toBe('terminate')
    expect(await connection.ended).toMatchObject({ reason: 'handshake_timeout', welcomed: false, proven: true })
  })

  test('has heartbeats after the welcome, and ends when nothing comes any more', async () => {
    const clock = holdClock({ timers: true })
    const network = { bytesRead: 0 }
    const { socket, connection, told, welcome } = heldConnection(network)
    welcome(1000)
    for (let beat = 1; beat <= 20; beat += 1) {
      network.bytesRead += 1
      clock.move(1000)
    }
    expect([told.filter((one) => one === 'heartbeat').length, connection.open]).toEqual([20, true])
    expect(socket.done.filter((one) => one === 'ping')).toHaveLength(20)
    // The last byte was seen at the first look of the last heartbeat.
    clock.move(1250)
    expect(connection.open).toBe(true)
    clock.move(250)
    expect(socket.done.at(-1)).toBe('terminate')
    expect(await connection.ended).toMatchObject({ reason: 'heartbeat_lost', welcomed: true })
  })
})

describe('the network below a socket that the agent dialled', () => {
  test('is the one of its upgrade: what comes over it counts as life', () => {
    const clock = holdClock({ timers: true })
    const { socket, connection, tls, welcome } = heldConnection(null)
    const network = { bytesRead: 0 }
    socket.emit('upgrade', { socket: network })
    welcome(1000)
    for (let beat = 1; beat <= 5; beat += 1) {
      network.bytesRead += 1
      clock.move(1000)
    }
    expect([connection.open, tls]).toEqual([true, [null]])
  })

  test('is part of the proof when it is TLS', () => {
    const { socket, tls, welcome } = heldConnection(null)
    const network = new TLSSocket(new Socket())
    socket.emit('upgrade', { socket: network })
    welcome()
    expect(tls).toEqual([network])
    network.destroy()
  })
})
