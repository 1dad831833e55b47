import { expect, test } from 'vitest'
import { proxyFor } from '../../../runner-agent/src/link/proxy.js'
import { adviceFor } from '../../../runner-agent/src/link/way-problem.js'
import { socketAddress, transportDoubt } from '../../../runner-agent/src/link/address.js'

/** The way of an agent to its control plane: where it dials, through what, and what is said of it. */
test.each([
  ['http://app:8000', 'ws://app:8000/api/v2/rte/socket'],
  ['https://app/forms//?a=1#b', 'wss://app/forms/api/v2/rte/socket'],
])('the socket of %s is %s', (app, socket) => {
  expect(socketAddress(new URL(app))).toBe(socket)
})

test.each([
  ['https://app.example.com', null, true],
  ['http://app.example.com', null, false],
  ['https://app.example.com', 'example.com', false],
  ['https://app.example.com', '.example.com', false],
  ['https://app.example.com', 'other.com, APP.example.com', false],
  ['https://app.example.com', 'ple.com', true],
  ['https://app.example.com', '*', false],
])('through the proxy to %s with NO_PROXY %s: %s', (app, noProxy, through) => {
  const proxy = new URL('http://proxy:3128')
  expect(proxyFor(new URL(app), proxy, noProxy)).toBe(through ? proxy : null)
})

test.each([
  ['https://app', true, false],
  ['https://app', false, true],
  ['http://app', true, true],
  ['http://app.localhost', true, false],
  ['http://127.8.9.10', false, false],
  ['http://[::1]', true, false],
  ['http://localhost.example.com', true, true],
  ['http://128.0.0.1', true, true],
])('the way to %s, with TLS checked %s, is in doubt: %s', (url, tlsVerify, isInDoubt) => {
  expect(transportDoubt(new URL(url), tlsVerify) !== null).toBe(isInDoubt)
})

test('there is advice about an error that is known, or about the error behind it', () => {
  const errorOf = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code })
  const refused = errorOf('ECONNREFUSED')
  expect(adviceFor(refused)).not.toBeNull()
  expect(adviceFor(errorOf('ESTRANGE', refused))).toBe(adviceFor(refused))
  for (const error of [errorOf('ESTRANGE'), new Error('words'), 'a text', null]) expect(adviceFor(error)).toBeNull()
})
