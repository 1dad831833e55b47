import { get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pino } from 'pino'
import type { FastifyPluginAsync } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AppDependencies, buildApp } from '../../../control-plane/src/http/app.js'
import type { AuditTrail } from '../../../control-plane/src/audit/trail.js'
import { UnauthenticatedError } from '../../../control-plane/src/errors.js'
import { heldTimers } from '../../api/held-timers.js'
import { ANN } from './route-app.js'

const lines: Record<string, unknown>[] = []
const begun: string[] = []
const trail = {
  keepsReads: false,
  begin({ action }: { action: string }) {
    begun.push(action)
    return { noted: {}, note: () => undefined, run: (handle: () => void) => handle(), finish: () => undefined }
  },
} as unknown as AuditTrail

const routes: FastifyPluginAsync = async (api) => {
  const open = { config: { public: true } }
  api.get('/ip', open, async (request) => ({ ip: request.ip, protocol: request.protocol, host: request.host }))
  api.get('/query', open, async (request) => request.query)
  api.get('/thing/:name', open, async (request) => request.params)
  api.put('/thing/:name', open, async () => ({}))
  api.get('/mine', async (request) => ({ name: request.caller?.username }))
  api.get('/probe', { config: { public: true, duringStop: true } }, async () => ({}))
  api.post('/limited', { config: { public: true, rateLimit: {} } }, async () => ({}))
}

const deps = (more: Partial<AppDependencies> = {}): AppDependencies => ({
  logger: pino({ level: 'debug' }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
  baseUrl: '/',
  trustProxy: null,
  isPublicTls: false,
  bodyLimitBytes: 4096,
  tls: null,
  version: '1.2.3',
  authentication: {
    bearer: async (token) => {
      if (token !== 'good') throw new UnauthenticatedError('token_invalid', 'No')
      return ANN
    },
    browser: async () => Promise.reject(new UnauthenticatedError('token_invalid', 'No')),
    publicUrl: null,
  },
  trail,
  authRateLimit: 2,
  meters: { requestEnded: () => undefined, launchAnswered: () => undefined },
  timers: heldTimers().timers,
  pages: null,
  plugins: [routes],
  ...more,
})

let app: Awaited<ReturnType<typeof buildApp>>
beforeAll(async () => {
  app = await buildApp(deps())
})
afterAll(() => app.close())

const asked = (path: string, headers: Record<string, string> = {}, on = app) =>
  on.inject({ url: `/api/v2${path}`, headers })

describe('every answer', () => {
  test('has headers that keep browsers from harm, and changes no other names of the domain', async () => {
    for (const path of ['/ip', '/nothing']) {
      const { headers } = await asked(path)
      expect(headers['strict-transport-security']).toMatch(/^max-age=\d+$/)
      expect(headers['content-security-policy']).not.toContain('upgrade-insecure-requests')
      expect(headers['x-content-type-options']).toBe('nosniff')
    }
  })

  test.each(['A.b_c:d-9', 'x'.repeat(64)])('has the id that the request came with: %s', async (id) => {
    expect((await asked('/ip', { 'x-request-id': id })).headers['x-request-id']).toBe(id)
  })

  test.each(['', 'x'.repeat(65), 'a b', 'ä'])('has a new id in place of one that cannot be logged: %j', async (id) => {
    expect((await asked('/ip', { 'x-request-id': id })).headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/)
  })
})

describe('a proxy', () => {
  const forwarded = { 'x-forwarded-for': '203.0.113.9, 198.51.100.7', 'x-forwarded-proto': 'https' }

  test('is believed only where that is set', async () => {
    expect((await asked('/ip', forwarded)).json()).toMatchObject({ ip: '127.0.0.1', protocol: 'http' })
  })

  test('is believed for the address that it saw, not for those that a client claims', async () => {
    const behind = await buildApp(deps({ trustProxy: { hops: 1 } }))
    expect((await asked('/ip', forwarded, behind)).json()).toMatchObject({ ip: '198.51.100.7', protocol: 'https' })
    await behind.close()
  })
})

describe('a path', () => {
  test('works with a slash at its end, and below a base URL only there', async () => {
    expect((await asked('/ip/')).statusCode).toBe(200)
    const below = await buildApp(deps({ baseUrl: '/jobs/' }))
    expect((await below.inject('/jobs/api/v2/ip')).statusCode).toBe(200)
    expect((await below.inject('/api/v2/ip')).statusCode).toBe(404)
    await below.close()
  })

  test('may have a part of 500 characters', async () => {
    expect((await asked(`/thing/${'x'.repeat(500)}`)).statusCode).toBe(200)
    const longer = await asked(`/thing/${'x'.repeat(501)}`)
    expect([longer.statusCode, longer.json<{ code: string }>().code]).toEqual([404, 'not_found'])
    expect(longer.headers['x-request-id']).toMatch(/./)
  })

  test('that is not there, and one that takes other methods', async () => {
    const missing = await asked('/nothing?x=1')
    expect([missing.statusCode, missing.json<{ code: string }>().code]).toEqual([404, 'unknown_route'])
    const post = (path: string, method: 'POST' | 'OPTIONS') => app.inject({ method, url: `/api/v2${path}` })
    const wrong = await post('/thing/a?x=1', 'POST')
    expect([wrong.statusCode, wrong.headers.allow, wrong.json()]).toEqual([
      405,
      'GET, HEAD, PUT, OPTIONS',
      { code: 'method_not_allowed', error: 'This path takes GET, HEAD, PUT, not POST' },
    ])
    const options = await post('/thing/a', 'OPTIONS')
    expect([options.statusCode, options.headers.allow, options.body]).toEqual([204, 'GET, HEAD, PUT, OPTIONS', ''])
    expect((await post('/nothing', 'OPTIONS')).statusCode).toBe(404)
  })

  test('may have a query, in which the last of several values counts', async () => {
    expect((await asked('/query?a=1&b=x%20y&a=2&c')).json()).toEqual({ a: '2', b: 'x y', c: '' })
  })
})

describe('who asks', () => {
  test('needs a token', async () => {
    expect((await asked('/mine')).statusCode).toBe(401)
    expect((await asked('/mine', { authorization: 'Bearer good' })).json()).toEqual({ name: 'ann' })
  })

  test('may ask only so often where passwords and tokens are handled', async () => {
    const post = () => app.inject({ method: 'POST', url: '/api/v2/limited' })
    begun.length = 0
    expect([(await post()).statusCode, (await post()).statusCode]).toEqual([200, 200])
    const third = await post()
    expect([third.statusCode, third.json<{ code: string }>().code]).toEqual([429, 'rate_limited'])
    expect(Number(third.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(begun).toEqual(['limited.create', 'limited.create', 'limited.create'])
    const free = await buildApp(deps({ authRateLimit: 0 }))
    for (let time = 0; time < 5; time += 1)
      expect((await free.inject({ method: 'POST', url: '/api/v2/limited' })).statusCode).toBe(200)
    await free.close()
  })
})

test('the log has a line for each request, by the pattern of its path; those of probes are for a closer look', async () => {
  lines.length = 0
  await asked('/thing/secret?token=secret')
  await asked('/elsewhere/secret?token=hidden')
  await asked('/probe')
  const requests = lines.filter(({ msg }) => msg === 'request')
  expect(requests).toMatchObject([
    { level: 30, method: 'GET', path: '/api/v2/thing/:name', status: 200 },
    { level: 30, path: '/api/v2/elsewhere/secret', status: 404 },
    { level: 20, path: '/api/v2/probe' },
  ])
  for (const { ms } of requests) expect(Number.isInteger(ms)).toBe(true)
  expect(JSON.stringify(lines)).not.toContain('token')
})

/** Asks a service that listens, past what holds answers against the document. */
const ask = (port: number, path: string) =>
  new Promise<[number | undefined, string | undefined]>((resolve, reject) => {
    const request = get({ port, host: '127.0.0.1', path: `/api/v2${path}`, agent: false }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => (body += text))
      answer.on('end', () => resolve([answer.statusCode, (JSON.parse(body) as { code?: string }).code]))
    })
    request.on('error', reject)
  })

test('a service that stops answers probes, and tells others that it stops', async () => {
  const answers: unknown[] = []
  const asking: FastifyPluginAsync = async (api) => {
    // Hooks run one after the other: the service knows by now that it stops.
    api.addHook('preClose', async () => {
      const { port } = api.server.address() as AddressInfo
      for (const path of ['/probe', '/ip', '/nothing']) answers.push(await ask(port, path))
    })
  }
  const ending = await buildApp(deps({ plugins: [routes, asking] }))
  await ending.listen({ port: 0, host: '127.0.0.1' })
  await ending.close()
  expect(answers).toEqual([
    [200, undefined],
    [503, 'stopping'],
    [503, 'stopping'],
  ])
})
