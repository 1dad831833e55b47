import { SOCKET_PATH } from '@holdfast/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { runnerIdOf } from '../api/runner-row.js'
import { type TestServer, startServer } from '../api/server.js'
import { waitFor } from '../support/wait.js'
import { RawAgent, newIdentity } from '../support/raw-agent.js'

/** The fields that the specification lists, in its order, and those that we add. */
const SPECIFIED = [
  'id',
  'name',
  'state',
  'online',
  'enabled',
  'is_default',
  'mode',
  'fingerprint',
  'host',
  'ip',
  'version',
  'contract',
  'ansible_version',
  'max_jobs',
  'running_jobs',
  'draining',
  'clock_skew_ms',
  'spool_bytes',
  'requested_at',
  'approved_at',
  'approved_by',
  'last_seen',
  'description',
]
const ADDED = ['kept_by', 'agent_max_jobs', 'clone', 'isolation']

let server: TestServer
let user: string
let url: string

beforeAll(async () => {
  server = await startServer()
  user = (await server.addUser('ulla')).token
  url = `ws://127.0.0.1:${server.port}${SOCKET_PATH}`
})
afterAll(() => server.close())

const asAdmin = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, json })

async function ask(name: string): Promise<{ agent: RawAgent; path: string }> {
  const agent = await RawAgent.join(url, newIdentity(name))
  return { agent, path: `/runner/${await runnerIdOf(server, name)}` }
}

describe('runners over REST', () => {
  test('a request is listed with every field, and shown by its id', async () => {
    const { path } = await ask('rest-1')
    const list = await asAdmin('GET', '/runner')
    expect(list.status).toBe(200)
    const { count, records } = list.body as { count: number; records: Record<string, unknown>[] }
    expect(count).toBe(records.length)
    const record = records.find((one) => one.name === 'rest-1')
    expect(Object.keys(record ?? {}).sort()).toEqual([...SPECIFIED, ...ADDED].sort())
    expect(record).toMatchObject({ state: 'waiting', online: true, mode: 'outbound', max_jobs: 10, clone: null })
    expect(record?.requested_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect((await asAdmin('GET', path)).body).toEqual(record)
  })

  test('only the runner with the compared fingerprint is approved: with another fingerprint nothing changes', async () => {
    const { path } = await ask('rest-compared')
    const { fingerprint } = (await asAdmin('GET', path)).body as { fingerprint: string }
    const other = `SHA256:${'A'.repeat(43)}`
    const refused = await asAdmin('POST', `${path}/approve`, { fingerprint: other })
    expect([refused.status, refused.body]).toEqual([
      409,
      { error: expect.stringContaining(`has the fingerprint ${fingerprint}, not ${other}`), code: 'other_fingerprint' },
    ])
    expect((await asAdmin('GET', path)).body).toMatchObject({ state: 'waiting' })
    expect((await asAdmin('POST', `${path}/approve`, { fingerprint: 5 })).status).toBe(400)
    expect((await asAdmin('POST', `${path}/approve`, { fingerprint })).status).toBe(200)
    expect((await asAdmin('DELETE', path)).status).toBe(200)
  })

  test('approve, change, revoke, remove', async () => {
    const { agent, path } = await ask('rest-2')
    expect((await asAdmin('POST', `${path}/approve`)).body).toEqual({
      message: 'The runner was approved; it is the default runner now',
    })
    expect(await agent.next('settings')).toMatchObject({ state: 'approved' })
    expect((await asAdmin('GET', path)).body).toMatchObject({ state: 'approved', approved_by: 'admin' })
    expect((await asAdmin('POST', `${path}/approve`)).status).toBe(409)
    expect((await asAdmin('POST', `${path}/reject`)).status).toBe(409)

    const change = { max_jobs: 3, description: 'by the window', is_default: true, enabled: false }
    expect((await asAdmin('PUT', path, change)).body).toEqual({ message: 'The runner was changed' })
    expect((await asAdmin('GET', path)).body).toMatchObject({ ...change, agent_max_jobs: 10 })
    expect((await asAdmin('PUT', path, { max_jobs: null })).status).toBe(200)
    expect((await asAdmin('GET', path)).body).toMatchObject({ max_jobs: 10, description: 'by the window' })

    expect((await asAdmin('POST', `${path}/revoke`)).status).toBe(200)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
    expect((await asAdmin('DELETE', path)).body).toEqual({ message: 'The runner was removed' })
    expect((await asAdmin('GET', path)).status).toBe(404)
  })

  test('only reinstate undoes a revoke: the runner comes back with its key', async () => {
    const { agent, path } = await ask('rest-7')
    expect((await asAdmin('POST', `${path}/reinstate`)).status).toBe(409)
    expect((await asAdmin('POST', `${path}/approve`)).status).toBe(200)
    expect((await asAdmin('POST', `${path}/reinstate`)).status).toBe(409)
    expect((await asAdmin('POST', `${path}/revoke`)).status).toBe(200)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'revoked' })
    const refused = await asAdmin('POST', `${path}/approve`)
    expect(refused).toMatchObject({ status: 409 })
    expect(refused.text).toContain('reinstate it to undo that')
    expect((await asAdmin('POST', `${path}/reinstate`)).body).toEqual({
      message: 'The runner was reinstated; it is the default runner now',
    })
    expect((await asAdmin('GET', path)).body).toMatchObject({ state: 'approved', enabled: true, approved_by: 'admin' })
    const again = await RawAgent.join(url, agent.identity)
    expect((await again.next('welcome')).state).toBe('approved')
  })

  test('reject', async () => {
    const { agent, path } = await ask('rest-3')
    expect((await asAdmin('POST', `${path}/reject`)).status).toBe(200)
    expect(await agent.waitForClose()).toMatchObject({ reason: 'rejected' })
    expect((await asAdmin('GET', path)).status).toBe(404)
  })

  test('a malformed change is refused and changes nothing', async () => {
    const { path } = await ask('rest-4')
    const before = (await asAdmin('GET', path)).body
    const long = 'x'.repeat(1001)
    for (const json of [
      { enabled: 'yes' },
      { max_jobs: -1 },
      { max_jobs: 1.5 },
      { is_default: null },
      { description: long },
      [],
    ]) {
      expect((await asAdmin('PUT', path, json)).status).toBe(400)
    }
    expect((await asAdmin('GET', path)).body).toEqual(before)
  })
})

describe('the order of the checks', () => {
  const routes: [string, string, unknown?][] = [
    ['GET', ''],
    ['PUT', '', {}],
    ['DELETE', ''],
    ['POST', '/approve'],
    ['POST', '/reject'],
    ['POST', '/revoke'],
    ['POST', '/reinstate'],
    ['POST', '/accept'],
  ]
  test.each(routes)('%s /runner/:id%s', async (method, suffix, json) => {
    const { agent, path } = await ask(`order-${method}${suffix.replace('/', '-')}`.toLowerCase())
    const call = (id: string, token?: string) => server.call(method, `${id}${suffix}`, { token, json })
    expect((await call(path)).status).toBe(401)
    expect((await call('/runner/one', user)).status).toBe(400)
    expect((await call('/runner/999999', user)).status).toBe(404)
    expect((await call(path, user)).status).toBe(403)
    expect((await call('/runner/999999', server.admin)).status).toBe(404)
    expect(agent.closed).toBeNull()
    await asAdmin('POST', `${path}/reject`)
  })

  test.each([
    ['GET', '/runner'],
    ['GET', '/runner/join-tokens'],
    ['POST', '/runner/join-tokens'],
  ])('%s %s', async (method, path) => {
    expect((await server.call(method, path)).status).toBe(401)
    expect((await server.call(method, path, { token: user })).status).toBe(403)
  })
})

describe('join tokens over REST', () => {
  test('are shown once, are listed without the token itself, work once, and can be removed', async () => {
    const made = await asAdmin('POST', '/runner/join-tokens', { name: 'rack 7', ttl_minutes: 60 })
    expect(Object.keys(made.body).sort()).toEqual(['expires_at', 'id', 'token'])
    const list = await asAdmin('GET', '/runner/join-tokens')
    expect(list.text).not.toContain(made.body.token)
    const records = list.body.records as Record<string, unknown>[]
    const lifetime = Date.parse(String(records[0]?.expires_at)) - Date.parse(String(records[0]?.created_at))
    expect(records[0]).toMatchObject({ name: 'rack 7', created_by: 'admin', used_at: null, used_by: null })
    expect(lifetime).toBe(60 * 60_000)

    const agent = await RawAgent.join(url, newIdentity('token-1'), { join_token: String(made.body.token) })
    expect((await agent.next('welcome')).state).toBe('approved')
    expect((await asAdmin('GET', '/runner/join-tokens')).body.records).toMatchObject([{ used_by: 'token-1' }])
    expect((await asAdmin('DELETE', `/runner/join-tokens/${String(made.body.id)}`)).status).toBe(200)
    expect((await asAdmin('DELETE', `/runner/join-tokens/${String(made.body.id)}`)).status).toBe(404)
  })

  test('are valid for 30 minutes by default, with or without a body', async () => {
    for (const json of [undefined, {}]) {
      const before = server.clock.now()
      const { body } = await asAdmin('POST', '/runner/join-tokens', json)
      expect(Math.abs(Date.parse(String(body.expires_at)) - before - 30 * 60_000)).toBeLessThan(60_000)
    }
  })

  test.each([{ ttl_minutes: 1441 }, { ttl_minutes: 0 }, { ttl_minutes: '30' }, { name: '' }])(
    '%j is malformed',
    async (json) => {
      expect((await asAdmin('POST', '/runner/join-tokens', json)).status).toBe(400)
    },
  )

  test('an unknown token: 404 before 403, and 400 for an invalid id', async () => {
    const call = (id: string) => server.call('DELETE', `/runner/join-tokens/${id}`, { token: user })
    const { body } = await asAdmin('POST', '/runner/join-tokens')
    expect((await call('999999')).status).toBe(404)
    expect((await call(String(body.id))).status).toBe(403)
    expect((await call('first')).status).toBe(400)
  })
})

describe('the socket behind the application', () => {
  test('needs no token, sees the address of the caller, and is not a page', async () => {
    const { path } = await ask('socket-1')
    expect((await asAdmin('GET', path)).body).toMatchObject({ ip: '127.0.0.1' })
    const plain = await server.call('GET', '/rte/socket')
    expect([plain.status, plain.body.code]).toEqual([404, 'unknown_route'])
  })

  test('the end of a connection is seen', async () => {
    const { agent, path } = await ask('socket-2')
    agent.socket.terminate()
    await waitFor('it to be offline', async () => (await asAdmin('GET', path)).body.online === false)
  })
})
