import fastify, { type FastifyRequest } from 'fastify'
import { describe, expect, test } from 'vitest'
import type { AuditNote, AuditTrail } from '../../../control-plane/src/audit/trail.js'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { UnauthenticatedError } from '../../../control-plane/src/errors.js'
import { registerAudit } from '../../../control-plane/src/http/route/audit-hook.js'
import { registerAuthentication } from '../../../control-plane/src/http/route/authentication.js'
import { adminOf, requireAdminFor } from '../../../control-plane/src/http/route/guards.js'
import { type HttpMeters, registerHttpMeters } from '../../../control-plane/src/http/route/meters.js'
import { registerErrorHandling } from '../../../control-plane/src/http/server/errors.js'
import { ADMIN, ANN } from './route-app.js'

const CALLERS: Readonly<Record<string, Caller>> = {
  ann: ANN,
  admin: ADMIN,
  first: { ...ANN, passwordMustChange: true },
  reader: { ...ANN, scopes: ['read'] },
  launcher: { ...ANN, scopes: ['read', 'launch'] },
}

const find = (kind: string) => (token: string) => {
  const caller = CALLERS[token.replace(`${kind}-`, '')]
  if (!caller || !token.startsWith(`${kind}-`)) throw new UnauthenticatedError('token_invalid', 'No')
  return Promise.resolve(caller)
}

type Handler = (request: FastifyRequest) => Promise<unknown>
interface Route {
  readonly method?: string
  readonly path?: string
  readonly config?: object
  readonly handler?: Handler
  readonly onRequest?: (request: FastifyRequest) => Promise<void>
}

interface Begun {
  readonly action: string
  readonly kind: string
  readonly notes: AuditNote[]
  readonly ends: number[]
  ran: boolean
}

/** One route behind the hooks of every request. */
async function appWith(route: Route, { keepsReads = false }: { readonly keepsReads?: boolean } = {}) {
  const app = fastify()
  const begun: Begun[] = []
  const metered: Parameters<HttpMeters['requestEnded']>[0][] = []
  const launches: string[] = []
  const trail = {
    keepsReads,
    begin({ action, kind }: { action: string; kind: string }) {
      const record: Begun = { action, kind, notes: [], ends: [], ran: false }
      begun.push(record)
      return {
        get noted() {
          return Object.assign({}, ...record.notes) as AuditNote
        },
        note: (note: AuditNote) => void record.notes.push(note),
        run(handle: () => void) {
          record.ran = true
          handle()
        },
        finish: (status: number) => void record.ends.push(status),
      }
    },
  } as unknown as AuditTrail
  const meters: HttpMeters = {
    requestEnded: (request) => void metered.push(request),
    launchAnswered: (outcome) => void launches.push(outcome),
  }
  registerErrorHandling(app)
  app.decorateRequest('caller', null)
  registerHttpMeters(app, { meters, basePath: '/base' })
  await app.register(
    async (api) => {
      registerAudit(api, trail)
      registerAuthentication(api, { bearer: find('b'), browser: find('c'), publicUrl: null }, () => Promise.resolve())
      const { method = 'POST', path = '/user', config = {}, handler = async () => ({ ok: true }), onRequest } = route
      api.route({ method, url: path, config, handler, ...(onRequest ? { onRequest } : {}) })
    },
    { prefix: '/base/api/v2' },
  )
  const call = async (headers: Readonly<Record<string, string>> = {}, path = route.path ?? '/user') => {
    const method = (route.method ?? 'POST') as 'POST'
    const { statusCode, body } = await app.inject({ method, url: `/base/api/v2${path}`, headers })
    return { status: statusCode, code: (JSON.parse(body) as { code?: string } | null)?.code ?? null }
  }
  return { call, begun, metered, launches }
}

const bearer = (name: string) => ({ authorization: `Bearer b-${name}` })
const cookie = (name: string) => ({ cookie: `__Host-holdfast_session=c-${name}`, host: 'localhost' })
const PAGE = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }

describe('who makes a request', () => {
  const whose: Handler = async (request) => ({ code: request.caller?.username })

  test.each([
    [bearer('ann'), 200, 'ann'],
    [{ authorization: 'bearer   b-ann ' }, 200, 'ann'],
    [{ ...cookie('ann'), ...PAGE }, 200, 'ann'],
    // A token is taken in place of the cookie.
    [{ ...bearer('admin'), ...cookie('ann'), ...PAGE }, 200, 'root'],
    [cookie('ann'), 401, 'token_missing'],
    [{}, 401, 'token_missing'],
    [{ authorization: 'Bearer nobody' }, 401, 'token_invalid'],
    [{ authorization: 'Basic YTpi', ...cookie('ann'), ...PAGE }, 401, 'token_invalid'],
    [{ authorization: 'Bearer a b' }, 401, 'token_invalid'],
    [bearer('first'), 403, 'password_change_needed'],
    [bearer('reader'), 403, 'scope_needed'],
  ])('%j: %i %s', async (headers, status, code) => {
    const { call } = await appWith({ handler: whose })
    expect(await call(headers)).toEqual({ status, code })
  })

  test('is not asked at a public route', async () => {
    const { call } = await appWith({ config: { public: true }, handler: whose })
    expect(await call()).toEqual({ status: 200, code: null })
    expect(await call({ authorization: 'Bearer nobody' })).toEqual({ status: 200, code: null })
  })

  test('may change a first password, where the route says so', async () => {
    const { call } = await appWith({ config: { beforePasswordChange: true } })
    expect((await call(bearer('first'))).status).toBe(200)
  })

  test.each([
    ['GET', '/user', 'read'],
    ['HEAD', '/user', 'read'],
    ['POST', '/job', 'launch'],
    ['POST', '/job/7/abort', 'launch'],
    ['DELETE', '/job/7', 'launch'],
    ['POST', '/jobs', 'admin'],
    ['POST', '/user', 'admin'],
  ])('needs a token with a scope: %s %s takes %s', async (method, path, needed) => {
    const { call } = await appWith({ method, path })
    const may = async (name: string) => {
      if (method !== 'HEAD') return (await call(bearer(name))).status === 200
      return true
    }
    expect([await may('reader'), await may('launcher'), await may('ann')]).toEqual([
      needed === 'read',
      needed !== 'admin',
      true,
    ])
  })

  test('needs the scope that the route names', async () => {
    const { call } = await appWith({ config: { scope: 'read' } })
    expect((await call(bearer('reader'))).status).toBe(200)
  })
})

describe('an admin', () => {
  test('is asked for after the object was found, and before anything else', async () => {
    const found: number[] = []
    const onRequest = requireAdminFor(async (id) => void found.push(id))
    const { call } = await appWith({ path: '/user/:id', onRequest })
    expect(await call(bearer('ann'), '/user/5')).toEqual({ status: 403, code: 'admin_only' })
    expect((await call(bearer('admin'), '/user/6')).status).toBe(200)
    expect(await call(bearer('ann'), '/user/x')).toEqual({ status: 400, code: 'invalid_id' })
    expect(found).toEqual([5, 6])
    expect(adminOf({ caller: ADMIN } as unknown as FastifyRequest)).toBe(ADMIN)
  })
})

describe('the record of a request', () => {
  const ANN_NOTED = { user: { name: 'ann', type: 'local', id: 7 } }

  test('names who did what to which object, and how it ended', async () => {
    const { call, begun } = await appWith({ method: 'PUT', path: '/user/:id' })
    await call(bearer('ann'), '/user/12')
    expect(begun).toMatchObject([{ action: 'user.change', kind: 'user', ran: true, ends: [200] }])
    expect(Object.assign({}, ...(begun[0]?.notes ?? []))).toEqual({ id: '12', ...ANN_NOTED })
  })

  test.each(['word', '1a', 'hunter2', '1'.repeat(16)])(
    'does not have what a path says in place of an id: %s',
    async (id) => {
      const { call, begun } = await appWith({ method: 'PUT', path: '/user/:id' })
      await call(bearer('ann'), `/user/${id}`)
      expect(JSON.stringify(begun)).not.toContain(id)
    },
  )

  test('has the id of what was made, unless another is noted or it failed', async () => {
    const idsOf = async (handler: Handler) => {
      const { call, begun } = await appWith({ handler })
      await call(bearer('ann'))
      return begun[0]?.notes.flatMap(({ id }) => (id === undefined ? [] : [id]))
    }
    expect(await idsOf(async () => ({ id: 42 }))).toEqual([42])
    expect(await idsOf(async () => ({ id: 'text' }))).toEqual([])
    expect(await idsOf(async () => null)).toEqual([])
    const noting: Handler = async (request) => {
      request.audit?.note({ id: 'own' })
      return { id: 42 }
    }
    expect(await idsOf(noting)).toEqual(['own'])
    const failing: Handler = async () => Promise.reject(Object.assign(new Error('no'), { statusCode: 409, id: 5 }))
    expect(await idsOf(failing)).toEqual([])
  })

  test('of a refusal is kept, but none of a stranger who needs a token', async () => {
    const refused = await appWith({})
    await refused.call(bearer('reader'))
    expect(refused.begun).toMatchObject([{ ends: [403], notes: [ANN_NOTED] }])
    const stranger = await appWith({})
    await stranger.call()
    expect(stranger.begun).toMatchObject([{ ends: [] }])
    const open = await appWith({ config: { public: true } })
    await open.call()
    expect(open.begun).toMatchObject([{ ends: [200], notes: [] }])
  })

  test.each(['job.read', 'job.download'])(
    'of a request that only reads is kept where it is wanted: %s',
    async (action) => {
      const route = { method: 'GET', path: '/job/:id', config: { audit: { action, kind: 'job' } } }
      const without = await appWith(route)
      await without.call(bearer('ann'), '/job/1')
      expect(without.begun).toEqual([])
      const kept = await appWith(route, { keepsReads: true })
      await kept.call(bearer('ann'), '/job/1')
      expect(kept.begun).toMatchObject([{ action, ends: [200] }])
      const plain = await appWith({ method: 'GET', path: '/job/:id' }, { keepsReads: true })
      expect((await plain.call(bearer('ann'), '/job/1')).status).toBe(200)
      expect(plain.begun).toEqual([])
    },
  )
})

describe('the metrics', () => {
  test('know a request by the pattern of its path', async () => {
    const { call, metered } = await appWith({ path: '/user/:id' })
    await call(bearer('ann'), '/user/5')
    await call(bearer('ann'), '/nothing/here')
    expect(metered).toMatchObject([
      { route: '/api/v2/user/:id', method: 'POST', status: 200 },
      { route: 'other', method: 'POST', status: 404 },
    ])
    for (const { seconds } of metered) expect(seconds).toBeLessThan(60)
  })

  test.each(['job.launch', 'job.relaunch'])('count launches by what came of them: %s', async (action) => {
    const { call, launches } = await appWith({ config: { audit: { action, kind: 'job' } } })
    await call(bearer('ann'))
    await call()
    expect(launches).toEqual(['accepted', 'refused'])
  })

  test('count nothing else as a launch', async () => {
    const { call, launches } = await appWith({ config: { audit: { action: 'job.abort', kind: 'job' } } })
    await call(bearer('ann'))
    expect(launches).toEqual([])
  })
})
