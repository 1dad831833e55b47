import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { OpenIdSettings } from '../../../control-plane/src/auth/roles/provider-config.js'
import { createProviders, type Providers } from '../../../control-plane/src/auth/openid/providers.js'

/** How often a provider of OpenID Connect is asked what it says of itself. */
const HOUR = 60 * 60_000
let server: Server
let settings: OpenIdSettings
let asked: number
let isBroken: boolean
let secret: string
let now: number
let providers: Providers

beforeEach(async () => {
  asked = 0
  isBroken = false
  secret = 'first'
  now = 1_000_000
  server = createServer((_request, response) => {
    asked += 1
    const issuer = settings.issuer
    const said = { issuer, token_endpoint: `${issuer}/token`, authorization_endpoint: `${issuer}/auth` }
    response.writeHead(isBroken ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  settings = { kind: 'oidc', issuer, clientId: 'holdfast', clientCredential: 'provider' } as OpenIdSettings
  providers = createProviders({
    secrets: { open: () => Promise.resolve({ user: null, password: secret }) },
    clock: { now: () => now },
  })
})

afterEach(() => {
  server.closeAllConnections()
  server.close()
})

test('once for sign-ins at the same time, and for those of an hour', async () => {
  await Promise.all([providers.of(settings), providers.of(settings), providers.of(settings)])
  expect(asked).toBe(1)
  now += HOUR - 1
  await providers.of(settings)
  expect(asked).toBe(1)
  now += 1
  await providers.of(settings)
  expect(asked).toBe(2)
})

test('again after the clock was set back, and when the client’s secret has changed', async () => {
  await providers.of(settings)
  now -= 1
  await providers.of(settings)
  expect(asked).toBe(2)
  secret = 'second'
  await providers.of(settings)
  expect(asked).toBe(3)
})

test('again after a wrong answer', async () => {
  isBroken = true
  await expect(providers.of(settings)).rejects.toThrow()
  isBroken = false
  await providers.of(settings)
  await providers.of(settings)
  expect(asked).toBe(2)
})

test('a client without a secret has none to open', async () => {
  const open = (): Promise<never> => Promise.reject(new Error('nothing is to be opened'))
  const without = createProviders({ secrets: { open }, clock: { now: () => now } })
  await without.of({ ...settings, clientCredential: null })
  expect(asked).toBe(1)
})
