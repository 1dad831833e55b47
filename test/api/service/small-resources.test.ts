import { readFile } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { type Socket, connect } from 'node:net'
import { describe, expect, test, beforeAll, afterAll } from 'vitest'
import type { FastifyPluginAsync } from 'fastify'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import { monitoringRoutes } from '../../../control-plane/src/http/service/monitoring.js'
import { CONTROL_PLANE_SETTINGS } from '../../../control-plane/src/settings-table.js'
import { version } from '../../../control-plane/src/version.js'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** The small resources: probes, documentation, the header's settings, the designer lock. */
let server: TestServer
beforeAll(async () => {
  server = await startServer()
})
afterAll(() => server.close())

describe('monitoring', () => {
  test.each([
    ['/live', { status: 'live' }],
    ['/ready', { status: 'ready' }],
    ['/version', { version, api: '7.3.0' }],
  ])('%s needs no token and accepts any', async (path, body) => {
    covers('service.monitoring', 'endpoint.live', 'endpoint.ready', 'monitoring.probes', 'monitoring.version')
    for (const options of [{}, { token: server.admin }, { token: 'nonsense' }]) {
      const answer = await server.call('GET', path, options)
      expect([answer.status, answer.body]).toEqual([200, body])
    }
  })

  test('ready says why it is not', async () => {
    const store = { check: () => Promise.reject(new UnavailableError('database_unreachable', 'gone')) }
    const app = await startServer({
      moreRoutes: [
        async (scope) =>
          scope.register(monitoringRoutes({ store, version: '1', warnings: () => [] }), { prefix: '/other' }),
      ],
    })
    try {
      const answer = await app.call('GET', '/other/ready')
      expect([answer.status, answer.body]).toEqual([503, { status: 'not ready', reason: 'database unreachable' }])
    } finally {
      await app.close()
    }
  })

  test('while it stops, probes answer and everything else is 503', async () => {
    covers('monitoring.stopping', 'answer.503')
    const held = [] as (() => void)[]
    let stopping: () => void = () => undefined
    const stopped = new Promise<void>((resolve) => {
      stopping = resolve
    })
    const routes: FastifyPluginAsync = async (scope) => {
      scope.addHook('preClose', async () => stopping())
      scope.get('/hold', { config: { public: true } }, () => new Promise((resolve) => held.push(() => resolve({}))))
    }
    const own = await startServer({ moreRoutes: [routes] })
    const sockets: Socket[] = []
    own.parts.app.server.on('connection', (socket: Socket) => sockets.push(socket))
    // Connections with a request under way stay open; what comes over them after the stop is asked.
    const paths = ['/live', '/ready', '/version', '/profile', '/nothing']
    const connections = paths.map(() => openConnection(own.port))
    for (const connection of connections) connection.ask('/hold')
    await waitFor('the requests that hold', () => held.length === paths.length)
    const closed = own.parts.app.close()
    await stopped
    const before = sockets.map(({ bytesRead }) => bytesRead)
    connections.forEach((connection, index) => connection.ask(paths[index] ?? ''))
    await waitFor('the requests after the stop', () => sockets.every((one, at) => one.bytesRead > (before[at] ?? 0)))
    for (const letGo of held) letGo()
    const answers = await Promise.all(connections.map((connection) => connection.ended))
    await closed
    expect(answers.map((answer) => answer.status)).toEqual([200, 503, 200, 503, 503])
    expect(answers[1]?.body).toEqual({ status: 'not ready', reason: 'stopping' })
    expect(answers[3]?.body).toEqual({ error: 'The service is stopping', code: 'stopping' })
    for (const answer of answers) expect(answer.head).toMatch(/x-request-id: .+/i)
    await own.close()
  })
})

describe('documentation', () => {
  test('the document is OpenAPI 3.1 and has every route with every status', async () => {
    covers('answer.docs', 'version.prefix')
    const { status, body } = await server.call('GET', '/docs/json')
    expect(status).toBe(200)
    expect(body.openapi).toBe('3.1.0')
    const paths = body.paths as Record<
      string,
      Record<string, { responses: Record<string, unknown>; security?: unknown }>
    >
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/api/v2/auth/login',
        '/api/v2/user/{id}',
        '/api/v2/forms',
        '/api/v2/events',
        '/api/v2/lock',
      ]),
    )
    for (const [path, methods] of Object.entries(paths)) {
      expect(path).toMatch(/^\/api\/v2\//)
      for (const [method, operation] of Object.entries(methods)) {
        // There a browser is sent on, to its provider or to the program that opened it.
        const isSentOn =
          /\/auth\/(oidc|azuread|azureadoauth2)$/.test(path) || (path.endsWith('/auth/confirm') && method === 'post')
        const success = isSentOn ? '302' : '200'
        expect([path, method, Object.keys(operation.responses)]).toEqual([
          path,
          method,
          expect.arrayContaining([success]),
        ])
      }
    }
    expect(Object.keys(paths['/api/v2/user/{id}']?.delete?.responses ?? {})).toEqual(
      expect.arrayContaining(['200', '400', '401', '403', '404', '409', '500']),
    )
  })

  test('the page works without a token and without foreign servers', async () => {
    const page = await fetch(`${server.url}/api/v2/docs/`)
    const html = await page.text()
    expect([page.status, page.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/html')])
    const sources = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '')
    expect(sources.length).toBeGreaterThan(2)
    for (const source of sources) {
      expect(source).not.toMatch(/^https?:/)
      const file = await fetch(new URL(source, `${server.url}/api/v2/docs/`))
      expect([source, file.status]).toEqual([source, 200])
      await file.arrayBuffer()
    }
    expect(page.headers.get('content-security-policy')).not.toContain('upgrade-insecure-requests')
  })

  test('manipulated paths below the page find nothing', async () => {
    for (const path of [
      '/docs/static/../../../package.json',
      '/docs/static/..%2f..%2fpackage.json',
      '/docs/static/%2e%2e/%2e%2e/',
    ]) {
      const status = await new Promise<number>((resolve, reject) => {
        const request = httpRequest({ port: server.port, path: `/api/v2${path}` }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        request.on('error', reject).end()
      })
      expect([path, status >= 400 && status < 500]).toEqual([path, true])
    }
  })
})

test('every path begins with the base URL', async () => {
  covers('answer.base-url')
  const own = await startServer({ settings: { BASE_URL: '/holdfast/' } })
  try {
    expect(own.url).toMatch(/\/holdfast$/)
    expect((await own.call('GET', '/live')).status).toBe(200)
    expect((await own.call('GET', '/docs/json')).status).toBe(200)
    expect((await own.call('GET', '/profile', { token: own.admin })).status).toBe(200)
    expect((await fetch(`http://127.0.0.1:${own.port}/api/v2/live`)).status).toBe(404)
  } finally {
    await own.close()
  }
})

describe('appearance', () => {
  test('is read by everyone and changed by admins, field by field', async () => {
    covers('live-detail.appearance')
    const { token } = await server.addUser('reader')
    const first = await server.call('GET', '/settings/appearance', { token })
    expect([first.status, Object.keys(first.body).sort()]).toEqual([
      200,
      ['announcement', 'environment', 'name', 'theme'],
    ])
    const put = (json: unknown, as = server.admin) => server.call('PUT', '/settings/appearance', { token: as, json })
    expect((await put({ name: 'Mine' }, token)).status).toBe(403)
    expect((await put({ name: 5 })).status).toBe(400)
    expect((await put({ announcement: 'x'.repeat(10_001) })).status).toBe(400)
    expect((await put({ name: 'Tower', environment: 'PROD', junk: 1 })).status).toBe(200)
    expect((await put({ announcement: 'Maintenance <b>tonight</b>' })).status).toBe(200)
    expect((await server.call('GET', '/settings/appearance', { token })).body).toEqual({
      ...first.body,
      name: 'Tower',
      environment: 'PROD',
      announcement: 'Maintenance <b>tonight</b>',
    })
    // Who is not signed in reads the announcement, and nothing else.
    const { body } = await server.call('GET', '/auth/settings')
    expect(body).toMatchObject({ announcement: 'Maintenance <b>tonight</b>' })
    expect(JSON.stringify(body)).not.toMatch(/Tower|PROD/)
  })
})

describe('the designer lock', () => {
  test('is held by one at a time and free after ten minutes of silence', async () => {
    covers('live-detail.lock')
    const other = await server.addUser('designer', ['admins'])
    const guest = await server.addUser('guest')
    const call = (method: string, token: string) => server.call(method, '/lock', { token })
    expect((await call('GET', guest.token)).body).toEqual({
      free: true,
      locked: false,
      holder: null,
      since: null,
      until: null,
      mine: false,
    })
    expect((await call('POST', guest.token)).status).toBe(403)

    const taken = await call('POST', server.admin)
    expect([taken.status, taken.body]).toEqual([
      200,
      expect.objectContaining({ locked: true, holder: 'local/admin', mine: true }),
    ])
    const refused = await call('POST', other.token)
    expect([refused.status, refused.body.code, refused.body.details]).toEqual([
      409,
      'lock_held',
      { holder: 'local/admin' },
    ])
    expect((await call('DELETE', other.token)).status).toBe(409)
    expect((await call('GET', other.token)).body).toMatchObject({ locked: true, mine: false })

    server.clock.move(9 * 60_000)
    const kept = await call('POST', server.admin)
    expect(kept.body.since).toBe(taken.body.since)
    server.clock.move(9 * 60_000)
    expect((await call('POST', other.token)).status).toBe(409)
    server.clock.move(60_000)
    expect((await call('POST', other.token)).status).toBe(200)
    expect((await call('POST', server.admin)).status).toBe(409)
    expect((await call('DELETE', other.token)).body.message).toBe('The lock was released')
    expect((await call('DELETE', other.token)).status).toBe(200)
    expect((await call('POST', server.admin)).status).toBe(200)
  })

  test('goes to one of two users who ask for it at the same moment', async () => {
    const own = await startServer()
    try {
      const other = await own.addUser('rival', ['admins'])
      const answers = await Promise.all([own.admin, other.token].map((token) => own.call('POST', '/lock', { token })))
      expect(answers.map((answer) => answer.status).sort()).toEqual([200, 409])
    } finally {
      await own.close()
    }
  })
})

test('admins read every present setting; for a secret only whether it is set', async () => {
  covers('endpoint.service-settings')
  const secret = 'a secret that nobody may read'
  const own = await startServer({ settings: { METRICS_TOKEN: secret, JOBS_LIST_SIZE: '77' } })
  try {
    const { body } = await own.call('GET', '/settings/service', { token: own.admin })
    const records = new Map((body.records as { name: string }[]).map((record) => [record.name, record]))
    expect([...records.keys()]).toEqual(Object.keys(CONTROL_PLANE_SETTINGS))
    expect(records.get('METRICS_TOKEN')).toMatchObject({ value: '********', secret: true, given: true })
    expect(records.get('JOBS_LIST_SIZE')).toMatchObject({ value: '77', secret: false, given: true })
    expect(records.get('RTE_LOST_SECONDS')).toMatchObject({ secret: false, given: false })
    expect(records.get('ENCRYPTION_SECRET_PREVIOUS')).toMatchObject({ value: null, secret: true, given: false })
    expect(JSON.stringify(body)).not.toContain(secret)
    const { token } = await own.addUser('olga')
    expect((await own.call('GET', '/settings/service', { token })).status).toBe(403)
  } finally {
    await own.close()
  }
})

test('the package has its version', async () => {
  const { version } = await import('../../../control-plane/src/version.js')
  const manifest = JSON.parse(
    await readFile(new URL('../../../control-plane/package.json', import.meta.url), 'utf8'),
  ) as {
    version: string
  }
  expect(version).toBe(manifest.version)
})

/** One connection for several GET requests. `ended` gives the last answer once the server has closed it. */
function openConnection(port: number) {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece
  })
  const ended = new Promise<{ status: number; head: string; body: unknown }>((resolve, reject) => {
    socket.on('error', reject)
    socket.on('close', () => {
      const last = text.slice(text.lastIndexOf('HTTP/1.1 '))
      const [head = '', body = ''] = last.split('\r\n\r\n')
      resolve({ status: Number(head.split(' ')[1]), head, body: body === '' ? null : (JSON.parse(body) as unknown) })
    })
  })
  return {
    ask: (path: string) => void socket.write(`GET /api/v2${path} HTTP/1.1\r\nhost: x\r\n\r\n`),
    ended,
  }
}
