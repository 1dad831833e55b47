import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Server, createServer } from 'node:https'
import { type AddressInfo } from 'node:net'
import type { TLSSocket } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { sendRequest } from '../../../control-plane/src/sources/http-request.js'
import { REST_FUNCTIONS } from '../../../control-plane/src/sources/rest-functions.js'
import { RENEWED_CERTIFICATE, TEST_CERTIFICATE } from '../../support/test-certificate.js'
import { allWritten } from './origins.js'

/** A server with an authority of its own, which knows one client. */
let server: Server
let other: Server
let url: string

beforeAll(async () => {
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const isKnown = (request.socket as TLSSocket).authorized
    const { authorization = null } = request.headers
    if (request.url === '/away') response.writeHead(302, { location: `https://127.0.0.1:${portOf(other)}/` }).end()
    else response.end(JSON.stringify({ isKnown, authorization }))
  }
  const client = { requestCert: true, rejectUnauthorized: false, ca: RENEWED_CERTIFICATE.cert }
  server = createServer({ ...TEST_CERTIFICATE, ...client }, answer)
  other = createServer(TEST_CERTIFICATE, answer)
  for (const one of [server, other]) await new Promise<void>((resolve) => one.listen(0, '127.0.0.1', resolve))
  url = `https://127.0.0.1:${portOf(server)}`
})
afterAll(async () => {
  for (const one of [server, other]) {
    one.closeAllConnections()
    await new Promise((resolve) => one.close(resolve))
  }
})

const portOf = (one: Server) => (one.address() as AddressInfo).port

const login = { id: 1, user: 'sam', host: null, port: null, description: '' }
const trusted = { ca: TEST_CERTIFICATE.cert }
const CREDENTIALS: Record<string, OpenCredential> = {
  plain: { ...login, name: 'plain', type: 'userpass', password: 'hush', options: {} },
  trusting: { ...login, name: 'trusting', type: 'userpass', password: 'hush', options: trusted },
  client: {
    ...login,
    name: 'client',
    type: 'certificate',
    password: RENEWED_CERTIFICATE.key,
    options: { ...trusted, certificate: RENEWED_CERTIFICATE.cert },
  },
}

const ask = (name: string, ...given: unknown[]) =>
  REST_FUNCTIONS[name]?.(
    { given, origins: allWritten(given) },
    {
      send: (request) => sendRequest({ allowed: parseHostRules('127.0.0.1'), denied: parseHostRules('') }, request),
      credential: ([wanted]) => Promise.resolve(CREDENTIALS[wanted?.name ?? ''] as OpenCredential),
      jq: () => Promise.resolve(null),
      signal: new AbortController().signal,
    },
  )

const BASIC = `Basic ${Buffer.from('sam:hush').toString('base64')}`

test('a server is trusted by the authority of the credential, and by no other', async () => {
  await expect(ask('fnRestBasic', 'get', url, '', 'plain')).rejects.toThrow(/cannot be reached \(.*CERT/)
  await expect(ask('fnRestBasic', 'get', url)).rejects.toThrow(/cannot be reached \(.*CERT/)
  const answer = { isKnown: false, authorization: BASIC }
  expect(await ask('fnRestBasic', 'get', url, '', 'trusting')).toEqual(answer)
  const headers = { Authorization: 'Basic base64(trusting)' }
  expect(await ask('fnRestAdvanced', 'get', url, '', headers)).toEqual(answer)
  const token = { isKnown: false, authorization: 'Bearer hush' }
  expect(await ask('fnRestJwtSecure', 'get', url, '', 'trusting')).toEqual(token)
  expect(await ask('fnRestJwt', 'get', url, '', 'password(trusting)')).toEqual(token)
})

test('a client certificate proves who asks, and its key is never sent', async () => {
  expect(await ask('fnRestBasic', 'get', url, '', 'client')).toEqual({ isKnown: true, authorization: null })
  for (const [name, given] of [
    ['fnRestJwtSecure', 'client'],
    ['fnRestJwt', 'password(client)'],
    ['fnRestAdvanced', { a: 'base64(client)' }],
  ] as const) {
    await expect(ask(name, 'get', url, '', given)).rejects.toThrow('is of type certificate and is no password')
  }
})

test('a redirect to another server gets neither the certificate nor the trust', async () => {
  await expect(ask('fnRestBasic', 'get', `${url}/away`, '', 'client')).rejects.toThrow(/cannot be reached \(.*CERT/)
})
