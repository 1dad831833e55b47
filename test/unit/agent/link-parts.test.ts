import { describe, expect, test } from 'vitest'
import { watchHeartbeat } from '../../../runner-agent/src/link/heartbeat.js'
import { createBackOff } from '../../../runner-agent/src/link/back-off.js'
import { adviceFor } from '../../../runner-agent/src/link/way-problem.js'
import { socketAddress, transportDoubt } from '../../../runner-agent/src/link/address.js'
import { holdClock } from '../../agent/held-clock.js'

describe('the watch over a connection', () => {
  function watching() {
    const clock = holdClock({ timers: true })
    const connection = { bytes: 100, beats: 0, deaths: 0 }
    const stop = watchHeartbeat({
      heartbeatMs: 1000,
      bytesRead: () => connection.bytes,
      beat: () => (connection.beats += 1),
      dead: () => (connection.deaths += 1),
    })
    return { clock, connection, stop }
  }

  test('says each heartbeat that this agent lives', () => {
    const { clock, connection } = watching()
    clock.move(999)
    expect(connection.beats).toBe(0)
    clock.move(1)
    expect(connection.beats).toBe(1)
    connection.bytes += 1
    clock.move(1000)
    expect(connection.beats).toBe(2)
  })

  test('takes it for dead when nothing came for more than two heartbeats, and says so once', () => {
    const { clock, connection } = watching()
    clock.move(2249)
    expect(connection.deaths).toBe(0)
    clock.move(1)
    expect(connection.deaths).toBe(1)
    clock.move(10_000)
    expect([connection.deaths, clock.count()]).toEqual([1, 0])
  })

  test('counts anew after each byte that came', () => {
    const { clock, connection } = watching()
    clock.move(2000)
    connection.bytes += 1
    clock.move(2250)
    expect(connection.deaths).toBe(0)
    clock.move(250)
    expect(connection.deaths).toBe(1)
  })

  test('ends when the connection does', () => {
    const { clock, connection, stop } = watching()
    stop()
    clock.move(10_000)
    expect([connection.beats, connection.deaths, clock.count()]).toEqual([0, 0, 0])
  })
})

test('the first wait is a part of the shortest one, and no wait is longer than the longest', () => {
  const backOff = createBackOff({ shortestMs: 10, longestMs: 35, random: () => 1 })
  expect([backOff.next(), backOff.next(), backOff.next(), backOff.next()]).toEqual([10, 20, 35, 35])
  expect(createBackOff({ shortestMs: 10, longestMs: 35, random: () => 0 }).next()).toBe(0)
})

test.each([
  ['https://app', true, null],
  ['https://app', false, 'APP_TLS_VERIFY=0'],
  ['http://app', true, 'APP_URL is plain http'],
  ['http://localhost:8000', true, null],
  ['http://app.localhost', true, null],
  ['http://127.0.0.1', true, null],
  ['http://127.8.9.10', false, null],
  ['http://[::1]', true, null],
  ['http://localhost.example.com', true, 'APP_URL is plain http'],
  ['http://128.0.0.1', true, 'APP_URL is plain http'],
])('the way to %s, with TLS checked %s, is in doubt because of %s', (url, tlsVerify, words) => {
  const doubt = transportDoubt(new URL(url), tlsVerify)
  if (words === null) expect(doubt).toBeNull()
  else expect(doubt).toContain(words)
})

test('the address of the socket has nothing of a query or a fragment', () => {
  expect(socketAddress(new URL('https://app/forms//?a=1#b'))).toBe('wss://app/forms/api/v2/rte/socket')
})

describe('advice about an error of the way', () => {
  const errorOf = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code })

  test('is that of its code, or of the error behind it', () => {
    expect(adviceFor(errorOf('ECONNREFUSED'))).toContain('nothing listens there')
    expect(adviceFor(new Error('it failed', { cause: errorOf('CERT_HAS_EXPIRED') }))).toContain('renew the certificate')
    expect(adviceFor(errorOf('ESTRANGE', errorOf('EPROTO')))).toContain('speak TLS')
    expect(adviceFor(errorOf('EPROTO', errorOf('ECONNREFUSED')))).toContain('speak TLS')
  })

  test('is not there for what nobody knows', () => {
    for (const error of [errorOf('ESTRANGE'), new Error('words'), 'a text', null]) expect(adviceFor(error)).toBeNull()
  })
})
