import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMPILE_SCHEMAS } from '../../../control-plane/src/http/server/late-schemas.js'
import { newIdentity, RawAgent } from '../../support/raw-agent.js'
import { SOCKET_PATH } from '@holdfast/protocol'
import { runnerIdOf } from '../runner-row.js'
import { ADMIN_PASSWORD, type CallOptions, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** 401, then 404 (no such thing), then 403, and only then is what was sent looked at. */
let server: TestServer
let plain: string
const ids: Record<string, number> = {}

beforeAll(async () => {
  server = await startServer()
  plain = (await server.addUser('plain')).token
  ids.user = (await server.addUser('target')).id
  await RawAgent.join(`ws://127.0.0.1:${server.port}${SOCKET_PATH}`, newIdentity('order'))
  ids.runner = await runnerIdOf(server, 'order')
  const made = await server.call('POST', '/runner/join-tokens', { token: server.admin })
  ids['join-token'] = Number(made.body.id)
  const credential = { name: 'target', password: 'a secret' }
  ids.credential = Number((await server.call('POST', '/credential', { token: server.admin, json: credential })).body.id)
})
afterAll(() => server.close())

const JSON_HEADER = { 'content-type': 'application/json' }
/** What no route takes, each refused by another part of the service. */
const WRONG: [string, CallOptions][] = [
  ['no body', {}],
  ['an array', { json: [] }],
  ['wrong types', { json: { username: 5, enabled: 'x', ttl_minutes: 'x', theme: 5, max_jobs: 'x' } }],
  ['broken JSON', { body: '{', headers: JSON_HEADER }],
  ['too much', { body: JSON.stringify({ x: 'x'.repeat(2 * 1024 * 1024) }), headers: JSON_HEADER }],
  ['another kind', { body: 'a=1', headers: { 'content-type': 'text/plain' } }],
]

describe('on one object', () => {
  const routes: [string, string, string][] = [
    ['GET', '/user/:id', 'user'],
    ['PUT', '/user/:id', 'user'],
    ['DELETE', '/user/:id', 'user'],
    ['GET', '/credential/:id', 'credential'],
    ['PUT', '/credential/:id', 'credential'],
    ['DELETE', '/credential/:id', 'credential'],
    ['GET', '/runner/:id', 'runner'],
    ['PUT', '/runner/:id', 'runner'],
    ['DELETE', '/runner/:id', 'runner'],
    ['POST', '/runner/:id/approve', 'runner'],
    ['POST', '/runner/:id/reject', 'runner'],
    ['POST', '/runner/:id/revoke', 'runner'],
    ['POST', '/runner/:id/reinstate', 'runner'],
    ['POST', '/runner/:id/accept', 'runner'],
    ['DELETE', '/runner/join-tokens/:id', 'join-token'],
  ]
  test.each(routes)('%s %s: 401, 404, 403, whatever the body is', async (method, path, kind) => {
    covers('answer.order', 'answer.403', 'answer.404')
    const call = (id: unknown, options: CallOptions) => server.call(method, path.replace(':id', String(id)), options)
    // A GET has no body.
    for (const [what, options] of method === 'GET' ? WRONG.slice(0, 1) : WRONG) {
      const statuses = [
        (await call(ids[kind], options)).status,
        (await call(999_999, { ...options, token: plain })).status,
        (await call(ids[kind], { ...options, token: plain })).status,
      ]
      expect([what, ...statuses]).toEqual([what, 401, 404, 403])
    }
    expect((await call('one', { token: plain })).status).toBe(400)
    expect((await call(999_999, { token: server.admin })).status).toBe(404)
  })
})

describe('on resources without an id', () => {
  const routes: [string, string][] = [
    ['GET', '/user'],
    ['POST', '/user'],
    ['GET', '/credential'],
    ['POST', '/credential'],
    ['GET', '/runner'],
    ['GET', '/runner/join-tokens'],
    ['GET', '/runner/orphans'],
    ['POST', '/runner/join-tokens'],
    ['PUT', '/settings/appearance'],
    ['POST', '/lock'],
    ['DELETE', '/lock'],
    ['GET', '/audit?before=x'],
    ['GET', '/service/key'],
    ['POST', '/service/key/rotate'],
    ['POST', '/secret/encryption/rotate'],
    ['POST', '/secret/access-token/rotate'],
  ]
  test.each(routes)('%s %s: 401, then 403, whatever the body is', async (method, path) => {
    covers('answer.order', 'answer.403')
    for (const [what, options] of method === 'GET' ? WRONG.slice(0, 1) : WRONG) {
      const statuses = [
        (await server.call(method, path, options)).status,
        (await server.call(method, path, { ...options, token: plain })).status,
      ]
      expect([what, ...statuses]).toEqual([what, 401, 403])
    }
  })

  test('the lock: 403 before 409', async () => {
    covers('answer.order')
    const other = await server.addUser('holder', ['admins'])
    expect((await server.call('POST', '/lock', { token: other.token })).status).toBe(200)
    expect((await server.call('POST', '/lock', { token: plain })).status).toBe(403)
    expect((await server.call('DELETE', '/lock', { token: plain })).status).toBe(403)
    expect((await server.call('POST', '/lock', { token: server.admin })).status).toBe(409)
  })
})

test('an admin learns the mistake in the body, and nothing is changed', async () => {
  const before = (await server.call('GET', `/user/${ids.user ?? 0}`, { token: server.admin })).body
  for (const [what, options] of WRONG) {
    const answer = await server.call('PUT', `/user/${ids.user ?? 0}`, { ...options, token: server.admin })
    expect([what, answer.status]).toEqual([what, what === 'too much' ? 413 : what === 'another kind' ? 415 : 400])
  }
  expect((await server.call('GET', `/user/${ids.user ?? 0}`, { token: server.admin })).body).toEqual(before)
  await server.signIn('target', ADMIN_PASSWORD)
})

test('an admin replaces the key of the service and encrypts again; a secret that is a setting is not replaced', async () => {
  const call = (method: string, path: string, json?: unknown) =>
    server.call(method, path, { token: server.admin, json })
  const before = (await call('GET', '/service/key')).body.fingerprint
  const rotated = await call('POST', '/service/key/rotate', { fingerprint: before })
  expect(rotated).toMatchObject({ status: 200, body: { previous: [before] } })
  const { records } = (await call('GET', '/audit?records=1')).body
  const object = { kind: 'service-key', id: null, name: rotated.body.fingerprint }
  expect(records).toMatchObject([{ action: 'service-key.rotate', object, status: 200 }])
  expect((await call('POST', '/service/key/rotate', { fingerprint: before })).status).toBe(409)
  expect((await call('GET', '/service/key')).body).toEqual(rotated.body)
  const encrypted = await call('POST', '/secret/encryption/rotate')
  expect(encrypted).toMatchObject({ status: 200, body: { unreadable: 0 } })
  expect((await call('POST', '/secret/access-token/rotate')).status).toBe(409)
})

test('the schemas of every route can be compiled, although only the first request compiles them', () => {
  server.parts.app.getDecorator<() => void>(COMPILE_SCHEMAS)()
})
