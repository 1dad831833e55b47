import { afterEach, describe, expect, test } from 'vitest'
import { type ServerOptions, type TestServer, startServer } from '../api/server.js'

/** Behind a proxy nobody chooses their own address: not for the limits on guessing, and not in the audit trail. */

const opened: TestServer[] = []
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close()
})

const log: string[] = []
async function start(settings: ServerOptions['settings']): Promise<TestServer> {
  log.length = 0
  const server = await startServer({ settings, log })
  opened.push(server)
  return server
}
const warnings = (text: string) => log.filter((line) => line.includes(text))

/** Fails to sign in with these headers, as the proxy on this machine passes them on. @returns the address in the audit trail */
async function addressWith(server: TestServer, headers: Record<string, string>): Promise<string> {
  await server.call('POST', '/auth/login', { json: { username: 'nobody', password: 'wrong' }, headers })
  const { body } = await server.call('GET', '/audit?records=1&action=auth.login', { token: server.admin })
  return String((body.records as { address: string }[])[0]?.address)
}
const listed = (...entries: string[]) => ({ 'x-forwarded-for': entries.join(', ') })

describe('the address of a client is', () => {
  test.each([
    ['1', ['203.0.113.1', '198.51.100.7'], '198.51.100.7'],
    ['yes', ['198.51.100.7'], '198.51.100.7'],
    ['2', ['203.0.113.1', '198.51.100.7', '10.0.0.2'], '198.51.100.7'],
    ['2', ['198.51.100.7'], '198.51.100.7'],
    ['127.0.0.1', ['203.0.113.1', '198.51.100.7'], '198.51.100.7'],
    ['127.0.0.0/8, 10.0.0.0/8', ['203.0.113.1', '198.51.100.7', '10.9.9.9'], '198.51.100.7'],
    ['127.0.0.0/8, 2001:db8:5::/48', ['203.0.113.1', '2001:db8:6::1', '2001:db8:5::9'], '2001:db8:6::1'],
    ['127.0.0.1, 10.0.0.0/8', ['10.0.0.1', '10.0.0.2'], '10.0.0.1'],
    ['127.0.0.1, 10.0.0.0/8', ['203.0.113.1', '::ffff:10.0.0.2'], '203.0.113.1'],
    ['10.0.0.0/8', ['198.51.100.7'], '127.0.0.1'],
    ['0', ['198.51.100.7'], '127.0.0.1'],
  ])('with TRUST_PROXY=%s and the list %j: %s', async (trusted, list, address) => {
    expect(await addressWith(await start({ TRUST_PROXY: trusted }), listed(...list))).toBe(address)
  })

  test('that of the proxy when the list ends with something else, and never a text', async () => {
    const server = await start({ TRUST_PROXY: '1' })
    for (const entry of ['<script>', 'unknown', '_hidden', '198.51.100.7.9', '999.1.1.1', '', 'localhost', '1.2.3.4 5'])
      expect([entry, await addressWith(server, listed('203.0.113.1', entry))]).toEqual([entry, '127.0.0.1'])
  })

  test('taken without the port that some proxies add', async () => {
    const server = await start({ TRUST_PROXY: '1' })
    expect(await addressWith(server, listed('198.51.100.7:40000'))).toBe('198.51.100.7')
    expect(await addressWith(server, listed('[2001:db8::1]:40000'))).toBe('2001:db8::1')
  })

  test('not read from other headers', async () => {
    const server = await start({ TRUST_PROXY: '1' })
    const headers = { forwarded: 'for=198.51.100.7', 'x-real-ip': '198.51.100.7', 'x-client-ip': '198.51.100.7' }
    expect(await addressWith(server, headers)).toBe('127.0.0.1')
  })
})

test('guessing with an invented address each time is held back', async () => {
  const server = await start({ TRUST_PROXY: '127.0.0.1', AUTH_RATE_LIMIT: '20' })
  const statuses: number[] = []
  for (let guess = 0; guess < 40; guess += 1) {
    const headers = listed(`203.0.113.${guess}`, `2001:db8:${guess}::1`, '198.51.100.7')
    const { status } = await server.call('POST', '/auth/login', {
      json: { username: `u${guess}`, password: 'x' },
      headers,
    })
    statuses.push(status)
  }
  expect(statuses.slice(20).every((status) => status === 429)).toBe(true)
})

test.each([
  ['without X-Forwarded-Proto', {}, { TRUST_PROXY: '1' }, 1],
  ['that says http', { 'x-forwarded-proto': 'http' }, { TRUST_PROXY: '1' }, 1],
  ['that says no protocol', { 'x-forwarded-proto': 'javascript' }, { TRUST_PROXY: '1' }, 1],
  ['that says https', { 'x-forwarded-proto': 'http, https' }, { TRUST_PROXY: '1' }, 0],
  ['with the address of the console', {}, { TRUST_PROXY: '1', PUBLIC_URL: 'https://jobs.example.com' }, 0],
])('the log says once when the cookie is not bound to TLS: a proxy %s', async (_of, headers, settings, times) => {
  const server = await start(settings)
  const page = { 'x-forwarded-host': 'jobs.example.com', 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
  const json = { username: 'admin', password: 'correct horse battery' }
  for (let time = 0; time < 2; time += 1) {
    const answer = await server.call('POST', '/auth/session', {
      json,
      headers: { ...page, ...listed('198.51.100.7'), ...headers },
    })
    expect(answer.status).toBe(200)
    const isBound = /^__Host-.*; Secure/.test(answer.headers.get('set-cookie') ?? '')
    expect(isBound).toBe(times === 0)
  }
  expect(warnings('neither Secure nor __Host-')).toHaveLength(times)
})

test.each(['-1', '11', 'proxy.example', '10.0.0.0/33', ',', '1, 2'])(
  'TRUST_PROXY=%s is refused with what it may be',
  async (text) => {
    await expect(startServer({ settings: { TRUST_PROXY: text } })).rejects.toThrow(
      /^TRUST_PROXY: must be 0 .*addresses and networks.*, not "/,
    )
  },
)
