import { SOCKET_PATH } from '@holdfast/protocol'
import { beforeEach, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Answer, type CallOptions, type TestServer, startServer } from '../server.js'
import { RawAgent, newIdentity } from '../../support/raw-agent.js'
import { runnerIdOf } from '../runner-row.js'
import { covers } from '../../interface/covers.js'

/** AUTH_RATE_LIMIT: requests a minute of one address to each route that works with passwords and tokens. */
const LIMIT = 4

let server: TestServer
let token: string
beforeEach(async () => {
  // Each address that the proxy saw is one client.
  server = await startServer({ settings: { AUTH_RATE_LIMIT: String(LIMIT), TRUST_PROXY: '1' } })
  token = (await from('192.0.2.200', 'POST', '/auth/login', { json: right })).body.token as string
  return () => server.close()
})

const right = { username: 'admin', password: ADMIN_PASSWORD }

function from(address: string, method: string, path: string, options: CallOptions = {}): Promise<Answer> {
  return server.call(method, path, { ...options, headers: { 'x-forwarded-for': address, ...options.headers } })
}

describe('too many requests of one address', () => {
  test.each<[string, string, (token: string) => CallOptions, number]>([
    ['POST', '/auth/login', () => ({ json: { username: 'admin' } }), 400],
    ['POST', '/token', () => ({ json: { refreshtoken: 'x' } }), 401],
    ['GET', '/auth/oidc/callback', () => ({}), 401],
    ['POST', '/auth/exchange', () => ({ json: { code: 'x', verifier: 'x'.repeat(43) } }), 401],
    ['PUT', '/profile', (token) => ({ token, json: {} }), 400],
    ['POST', '/profile/tokens', (token) => ({ token, json: { name: '' } }), 400],
    ['DELETE', '/profile/tokens/none', (token) => ({ token }), 404],
  ])('%s %s: 429 with Retry-After', async (method, path, options, status) => {
    covers('sign-in.rate', 'answer.429')
    for (let count = 0; count < LIMIT; count += 1) {
      expect((await from('192.0.2.1', method, path, options(token))).status).toBe(status)
    }
    const answer = await from('192.0.2.1', method, path, options(token))
    expect([answer.status, answer.body.code]).toEqual([429, 'rate_limited'])
    const seconds = Number(answer.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(seconds).toBeLessThanOrEqual(60)
    // Another address is not held up by it.
    expect((await from('192.0.2.2', method, path, options(token))).status).toBe(status)
  })

  test('right passwords count, too: the limit is for the work, not for guessing', async () => {
    const answers = []
    for (let count = 0; count < LIMIT + 1; count += 1) {
      answers.push((await from('192.0.2.1', 'POST', '/auth/login', { json: right })).status)
    }
    expect(answers).toEqual([...Array.from({ length: LIMIT }, () => 200), 429])
  })

  test('requests above the limit have no record in the audit trail', async () => {
    for (let count = 0; count < LIMIT + 3; count += 1) {
      await from('192.0.2.1', 'POST', '/token', { json: { refreshtoken: 'x' } })
    }
    const { body } = await server.call('GET', '/audit?action=auth.refresh', { token })
    expect((body.records as { status: number }[]).map((record) => record.status)).toEqual(
      Array.from({ length: LIMIT }, () => 401),
    )
  })

  test('an address is the /64 of an IPv6 address', async () => {
    for (let count = 0; count < LIMIT; count += 1) {
      await from(`2001:db8::${count}`, 'POST', '/token', { json: { refreshtoken: 'x' } })
    }
    expect((await from('2001:db8::99', 'POST', '/token', { json: { refreshtoken: 'x' } })).status).toBe(429)
    expect((await from('2001:db8:0:1::1', 'POST', '/token', { json: { refreshtoken: 'x' } })).status).toBe(401)
  })

  test('runners that ask to join are counted by the address that the proxy saw', async () => {
    const ask = async (name: string, address: string) => {
      const url = `ws://127.0.0.1:${server.port}${SOCKET_PATH}`
      const agent = RawAgent.dial(url, newIdentity(name), undefined, { 'x-forwarded-for': address })
      await agent.hello()
      return agent
    }
    for (let at = 0; at < 20; at += 1) await (await ask(`edge-${at}`, '203.0.113.1')).next('welcome')
    expect(await (await ask('edge-20', '203.0.113.1')).waitForClose()).toMatchObject({ reason: 'too_many_waiting' })
    await (await ask('other', '203.0.113.2')).next('welcome')
    const { body } = await server.call('GET', `/runner/${await runnerIdOf(server, 'other')}`, { token })
    expect(body).toMatchObject({ state: 'waiting', ip: '203.0.113.2' })
  })
})

describe('too many requests of one address without a token', () => {
  /** What an address may send, with a limit of its own far above that of a single route. */
  async function untilRefused(address: string, path: string, options: CallOptions = {}): Promise<number> {
    for (let count = 0; count < LIMIT * 100; count += 1) {
      const answer = await from(address, 'GET', path, options)
      if (answer.status !== 429) continue
      expect(answer.body.code).toBe('rate_limited')
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
      return count
    }
    return Infinity
  }

  test.each<[string, string, CallOptions]>([
    ['to a public route', '/version', {}],
    ['to a route that needs a token', '/job', {}],
    ['with wrong tokens', '/job', { token: 'wrong' }],
    ['with the cookie of no session', '/profile', { headers: { cookie: 'holdfast_session=wrong' } }],
  ])(
    '%s: 429 with Retry-After; probes, sign-ins, other addresses and users are not held up',
    async (_, path, options) => {
      const most = await untilRefused('192.0.2.1', path, options)
      expect(most).toBeGreaterThan(LIMIT * 10)
      expect(most).toBeLessThan(Infinity)
      const status = async (address: string, ...call: [string, string, CallOptions?]) =>
        (await from(address, ...call)).status
      // The requests to all such routes count together.
      expect(await status('192.0.2.1', 'GET', '/forms')).toBe(429)
      for (const probe of ['/live', '/ready']) expect(await status('192.0.2.1', 'GET', probe)).toBe(200)
      expect(await status('192.0.2.1', 'POST', '/auth/login', { json: right })).toBe(200)
      expect(await status('192.0.2.1', 'GET', '/profile', { token })).toBe(200)
      expect(await status('192.0.2.1', 'GET', '/metrics', { token })).toBe(200)
      expect(await status('192.0.2.2', 'GET', '/version')).toBe(200)
    },
  )
})

test('0 is no limit', async () => {
  const open = await startServer({ settings: { AUTH_RATE_LIMIT: '0' } })
  try {
    for (let count = 0; count < 30; count += 1) {
      expect((await open.call('POST', '/token', { json: { refreshtoken: 'x' } })).status).toBe(401)
    }
  } finally {
    await open.close()
  }
})
