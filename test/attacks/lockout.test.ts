import { afterEach, beforeEach, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../api/server.js'

/** A lock against guessing must not become a way to keep somebody out. */
let server: TestServer
beforeEach(async () => {
  server = await startServer({ settings: { TRUST_PROXY: '1' } })
})
afterEach(() => server.close())

const signIn = (address: string, password: string, username = 'admin') =>
  server.call('POST', '/auth/login', { json: { username, password }, headers: { 'x-forwarded-for': address } })

test('a stranger who fails at a name on purpose does not keep its user out', async () => {
  for (let count = 0; count < 10; count += 1) await signIn('203.0.113.7', 'a wrong password')
  expect((await signIn('203.0.113.7', ADMIN_PASSWORD)).status).toBe(429)
  expect((await signIn('192.0.2.1', ADMIN_PASSWORD)).status).toBe(200)
})

test('strangers at many addresses do not keep a user out from where they signed in before', async () => {
  expect((await signIn('192.0.2.1', ADMIN_PASSWORD)).status).toBe(200)
  for (let address = 1; address <= 60; address += 1) await signIn(`203.0.113.${address}`, 'a wrong password')
  // Many addresses guess: where nobody has signed in before, the name is held back.
  expect((await signIn('198.51.100.1', ADMIN_PASSWORD)).status).toBe(429)
  expect((await signIn('192.0.2.1', ADMIN_PASSWORD)).status).toBe(200)
})

test('where a user has signed in before, five failures at the name still hold back', async () => {
  expect((await signIn('192.0.2.1', ADMIN_PASSWORD)).status).toBe(200)
  for (let count = 0; count < 5; count += 1) {
    expect((await signIn('192.0.2.1', 'a wrong password')).status).toBe(401)
  }
  expect((await signIn('192.0.2.1', ADMIN_PASSWORD)).status).toBe(429)
})
