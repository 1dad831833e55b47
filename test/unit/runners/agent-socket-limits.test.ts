import { MAX_CONTROL_BYTES, ProtocolError, type SealedChannel } from '@holdfast/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { holdProcessTimers } from '../../support/held-process-timers.js'
import { opened } from './opened-socket.js'

/** The limits of one socket at their edges, and what is left of it after its end. */
const KIBIBYTE = 1024
const MEBIBYTE = 1024 * KIBIBYTE

let timers: ReturnType<typeof holdProcessTimers>
beforeEach(() => {
  timers = holdProcessTimers()
})
afterEach(() => timers.release())

/** A channel whose sealed bytes are the text with an `S:` before it; other bytes are forged. */
function channelOf(): SealedChannel {
  const channel = {
    seal: (message: string | Buffer) => Buffer.from(`S:${message.toString()}`),
    open: (sealed: Buffer) => {
      const text = sealed.toString()
      if (text === 'broken') throw new Error('a fault of the product')
      if (!text.startsWith('S:')) throw new ProtocolError('bad_seal', 'forged')
      return text.startsWith('S:frame') ? sealed.subarray(2) : text.slice(2)
    },
  }
  return channel as unknown as SealedChannel
}

describe('rates', () => {
  test('a runner that is not approved may send 600 points at once: 150 texts or frames, or 300 pings', () => {
    for (const [kind, most] of [
      ['text', 150],
      ['frame', 150],
      ['ping', 300],
    ] as const) {
      const { fake, socket, send, sendFrames } = opened()
      const once = { text: () => send('x'), frame: () => sendFrames(1), ping: () => fake.emit('ping', Buffer.alloc(0)) }
      for (let count = 0; count < most; count += 1) once[kind]()
      expect([kind, socket.ended]).toEqual([kind, false])
      once[kind]()
      expect([kind, socket.endedBecause]).toEqual([kind, 'too_many_messages'])
    }
  })

  test('its heartbeats are in addition: the shorter they are, the more it may send', () => {
    const afterASecond = (heartbeatMs: number): number => {
      const { heard, time, send } = opened(heartbeatMs)
      send('x', 150)
      time.ms += 1000
      send('x', 60)
      return heard.indexOf('ended') - 150
    }
    // 40 points a second, and 12 for each heartbeat, at 4 for a text.
    expect([afterASecond(60_000), afterASecond(1000), afterASecond(100)]).toEqual([10, 13, 40])
  })

  test('an approved runner may send 20,000 frames at once, or 5,000 sealed texts', () => {
    const frames = opened()
    frames.socket.approved()
    frames.sendFrames(20_000)
    expect(frames.fake.done).toEqual([])
    frames.sendFrames(1)
    expect(frames.fake.done).toEqual(['pause'])

    const texts = opened()
    texts.socket.approved()
    texts.socket.protect(channelOf())
    const text = () => texts.fake.emit('message', Buffer.from('S:x'), true)
    for (let count = 0; count < 5000; count += 1) text()
    expect(texts.fake.done).toEqual([])
    text()
    expect(texts.fake.done).toEqual(['pause'])

    const sealed = opened()
    sealed.socket.approved()
    sealed.socket.protect(channelOf())
    for (let count = 0; count < 20_000; count += 1) sealed.fake.emit('message', Buffer.from('S:frame'), true)
    expect(sealed.fake.done).toEqual([])
  })

  test('reading that waits for the rate goes on once, and may wait again', () => {
    const { fake, socket, sendFrames } = opened()
    socket.approved()
    sendFrames(20_001)
    sendFrames(5)
    expect(fake.done).toEqual(['pause'])
    timers.advance(10)
    expect(fake.done).toEqual(['pause', 'resume'])
    sendFrames(1)
    timers.advance(10)
    expect(fake.done).toEqual(['pause', 'resume', 'pause', 'resume'])
    expect(socket.ended).toBe(false)
  })
})

describe('sizes', () => {
  test('before the hello 16 KiB are taken; more end the connection, and more than 64 KiB cut it', () => {
    const endOf = (bytes: number) => {
      const { fake, network, socket } = opened()
      network.emit('data', Buffer.alloc(bytes))
      return [socket.endedBecause, fake.done]
    }
    expect(endOf(16 * KIBIBYTE)).toEqual([null, []])
    expect(endOf(16 * KIBIBYTE + 1)).toEqual(['too_large', ['close 4002']])
    expect(endOf(64 * KIBIBYTE)).toEqual(['too_large', ['close 4002']])
    expect(endOf(64 * KIBIBYTE + 1)).toEqual(['it sent too much before the hello', ['terminate']])
  })

  test('a text of 1 MiB is a control message, and a longer one ends the connection', () => {
    const { heard, socket, send } = opened()
    send('x'.repeat(MAX_CONTROL_BYTES))
    expect([heard, socket.ended]).toEqual([[MAX_CONTROL_BYTES], false])
    send('x'.repeat(MAX_CONTROL_BYTES + 1))
    expect([heard, socket.endedBecause]).toEqual([[MAX_CONTROL_BYTES, 'ended'], 'too_large'])
  })

  test('a peer that leaves more than 64 MiB unread is cut off', () => {
    const { fake, socket } = opened()
    fake.bufferedAmount = 64 * MEBIBYTE
    socket.sendText('a')
    expect(socket.ended).toBe(false)
    fake.bufferedAmount += 1
    socket.sendText('b')
    expect([socket.endedBecause, fake.done]).toEqual(['it does not read what it is sent', ['terminate']])
    socket.sendText('c')
    expect(fake.sent.map(({ data }) => data)).toEqual(['a', 'b'])
  })

  test('a ping is answered as long as less than 64 KiB are unread', () => {
    const { fake, socket } = opened()
    fake.bufferedAmount = 64 * KIBIBYTE - 1
    fake.emit('ping', Buffer.alloc(0))
    expect(fake.done).toEqual(['pong'])
    fake.bufferedAmount += 1
    fake.emit('ping', Buffer.alloc(0))
    expect(fake.done).toEqual(['pong'])
    fake.bufferedAmount = 0
    socket.close('revoked', 'for the test')
    fake.emit('ping', Buffer.alloc(0))
    expect(fake.done.slice(1)).toEqual(['close 4008'])
  })
})

describe('what is sent', () => {
  test('everything is sealed from the proof on, and bytes are sent as bytes', async () => {
    const { fake, socket } = opened()
    socket.sendText('open')
    await socket.sendBytes(Buffer.from('bytes'))
    socket.protect(channelOf())
    socket.sendText('text')
    await socket.sendBytes(Buffer.from('bytes'))
    expect(fake.sent.map(({ data, binary }) => [data.toString(), binary])).toEqual([
      ['open', false],
      ['bytes', true],
      ['S:text', false],
      ['S:bytes', true],
    ])
  })

  test('bytes that cannot leave are an error for who sends them', async () => {
    const { fake, socket } = opened()
    fake.sendError = new Error('EPIPE')
    await expect(socket.sendBytes(Buffer.from('x'))).rejects.toThrow('EPIPE')
    socket.close('revoked', 'for the test')
    await expect(socket.sendBytes(Buffer.from('x'))).rejects.toThrow('the connection is closed')
    expect(fake.sent).toHaveLength(1)
  })

  test('only an open connection is pinged', () => {
    const { fake, socket } = opened()
    socket.ping()
    expect(fake.done).toEqual(['ping'])
    socket.cut('for the test')
    socket.ping()
    expect(fake.done).toEqual(['ping', 'terminate'])
  })
})

describe('what arrives', () => {
  test('a text and bytes are handed on as they are', () => {
    const { fake, messages, send } = opened()
    send('text')
    fake.emit('message', Buffer.from('bytes'), true)
    expect(messages).toEqual(['text', Buffer.from('bytes')])
  })

  test('behind the proof only sealed messages count', () => {
    const { fake, messages, socket } = opened()
    socket.protect(channelOf())
    fake.emit('message', Buffer.from('S:hello'), true)
    expect(messages).toEqual(['hello'])
    fake.emit('message', Buffer.from('S:hello'), false)
    expect([messages.length, socket.endedBecause]).toEqual([1, 'bad_seal'])

    const forged = opened()
    forged.socket.protect(channelOf())
    forged.fake.emit('message', Buffer.from('forged'), true)
    expect([forged.messages, forged.socket.endedBecause]).toEqual([[], 'bad_seal'])
  })

  test('a fault of the product is not said to be a broken seal', () => {
    const { fake, socket } = opened()
    socket.protect(channelOf())
    expect(() => fake.emit('message', Buffer.from('broken'), true)).toThrow('a fault of the product')
    expect(socket.ended).toBe(false)
  })
})

describe('the end', () => {
  test.each([
    ['a stranger', 250],
    ['an approved runner', 5000],
  ])('%s has %d ms for its own close', (who, milliseconds) => {
    const { fake, heard, socket } = opened()
    if (who !== 'a stranger') socket.approved()
    socket.close('revoked', 'for the test')
    socket.close('too_large', 'later reasons do not count')
    expect([heard, socket.endedBecause, fake.done]).toEqual([['ended'], 'revoked', ['close 4008']])
    timers.advance(milliseconds - 1)
    expect(fake.done).toEqual(['close 4008'])
    timers.advance(1)
    expect(fake.done).toEqual(['close 4008', 'terminate'])
  })

  test('who is closed while its reading pauses is read again, so that its close is heard', () => {
    const { fake, socket } = opened()
    socket.pause('session')
    socket.close('revoked', 'for the test')
    socket.resume('session')
    socket.pause('deciding')
    expect(fake.done).toEqual(['pause', 'resume', 'close 4008'])
  })

  test('who sends too fast before its approval is not read any more', () => {
    const paused = opened()
    paused.socket.pause('deciding')
    paused.send('x', 151)
    expect(paused.fake.done).toEqual(['pause', 'close 4020'])
    timers.advance(250)
    expect(paused.fake.done.at(-1)).toBe('terminate')
  })

  test('the other side may end it, too, and nothing is closed or cut afterwards', () => {
    const { fake, heard, socket } = opened()
    socket.close('revoked', 'for the test')
    fake.emit('close')
    expect([heard, timers.count()]).toEqual([['ended', 'gone'], 0])

    const left = opened()
    left.socket.approved()
    left.sendFrames(20_001)
    expect(timers.count()).toBe(1)
    left.fake.emit('error', new Error('a broken frame'))
    left.fake.emit('close')
    expect([left.heard.slice(-2), left.socket.endedBecause, timers.count()]).toEqual([['ended', 'gone'], null, 0])
  })

  test('a question whether the other side is alive leaves nothing behind when it gets no answer', async () => {
    const { fake, socket } = opened()
    const before = [fake.listenerCount('pong'), fake.listenerCount('close')]
    const answer = socket.answers(1000)
    expect(fake.lastPing).toHaveLength(8)
    timers.advance(1000)
    expect(await answer).toBe(false)
    expect([fake.listenerCount('pong'), fake.listenerCount('close')]).toEqual(before)
    const quick = socket.answers(1000)
    fake.emit('pong', fake.lastPing)
    expect([await quick, timers.count()]).toEqual([true, 0])
  })
})
