import { beforeEach, describe, expect, test } from 'vitest'
import { createAuditChain } from '../../../control-plane/src/audit/chain.js'
import { createAuditRetention } from '../../../control-plane/src/audit/retention.js'
import { createAuditTrail } from '../../../control-plane/src/audit/trail.js'
import { insertAudit, listAudit } from '../../../control-plane/src/store/audit/audit.js'
import { agesBy } from '../../support/ages.js'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { putJob } from '../job-rows.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'

/** The audit trail: who did what to what, when, from where, and how it came out. */
interface Entry {
  id: number
  time: string
  user: string | null
  user_type: string | null
  address: string
  action: string
  object: { kind: string; id: string | null; name: string | null }
  status: number | null
  request_id: string
  detail: string | null
}

let server: TestServer
beforeEach(async () => {
  server = await startServer()
  return () => server.close()
})

const asAdmin = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, json })
const audit = async (query = '') => (await asAdmin('GET', `/audit${query}`)).body.records as Entry[]
const newest = async () => (await audit('?records=1'))[0]

describe('a record', () => {
  test('has the user and user type, the address, the action and its object, the time, the outcome and the request id', async () => {
    const json = { username: 'ada', password: ADMIN_PASSWORD }
    const answer = await server.call('POST', '/user', {
      token: server.admin,
      json,
      headers: { 'x-request-id': 'req-7' },
    })
    expect(await newest()).toEqual({
      id: expect.any(Number),
      time: new Date(server.clock.now()).toISOString(),
      user: 'admin',
      user_type: 'local',
      user_id: expect.any(Number),
      address: '127.0.0.1',
      action: 'user.create',
      object: { kind: 'user', id: String(answer.body.id), name: 'ada' },
      status: 200,
      request_id: 'req-7',
      detail: null,
      position: null,
      hash: null,
    })
  })

  test('of a credential names it, and has nothing of its secret', async () => {
    const { body } = await asAdmin('POST', '/credential', { name: 'database', password: 'hidden-1' })
    const id = Number(body.id)
    await asAdmin('PUT', `/credential/${id}`, { password: 'hidden-2' })
    const { token } = await server.addUser('eve')
    await server.call('DELETE', `/credential/${id}`, { token })
    await asAdmin('DELETE', `/credential/${id}`)
    await asAdmin('GET', '/credential')
    const records = await audit()
    const ofCredentials = records.filter(({ object }) => object.kind === 'credential')
    expect(ofCredentials.map(({ user, action, status }) => [user, action, status])).toEqual([
      ['admin', 'credential.delete', 200],
      ['eve', 'credential.delete', 403],
      ['admin', 'credential.change', 200],
      ['admin', 'credential.create', 200],
    ])
    for (const { object } of ofCredentials) {
      expect(object).toEqual({ kind: 'credential', id: String(id), name: 'database' })
    }
    expect(JSON.stringify(records)).not.toContain('hidden-')
  })

  test('is made for changes of every kind, and not for reading', async () => {
    const { id } = await server.addUser('ben')
    const before = (await audit()).length
    for (const path of ['/user', `/user/${id}`, '/profile', '/lock', '/audit', '/settings/appearance', '/nothing']) {
      await asAdmin('GET', path)
    }
    const job = await putJob(server)
    for (const path of ['', '/download', '/events', '/output']) await asAdmin('GET', `/job/${job}${path}`)
    await asAdmin('POST', '/expression', { expression: '1' })
    expect(await audit()).toHaveLength(before)
    await asAdmin('PUT', `/user/${id}`, { email: 'ben@example.org' })
    await asAdmin('PUT', '/settings/appearance', { theme: 'dark' })
    await asAdmin('POST', '/lock')
    await asAdmin('DELETE', '/lock')
    await asAdmin('DELETE', `/user/${id}`)
    expect((await audit('?records=5')).map(({ action, object, status }) => [action, object, status])).toEqual([
      ['user.delete', { kind: 'user', id: String(id), name: 'ben' }, 200],
      ['lock.release', { kind: 'lock', id: null, name: null }, 200],
      ['lock.take', { kind: 'lock', id: null, name: null }, 200],
      ['settings.appearance.change', { kind: 'settings', id: null, name: null }, 200],
      ['user.change', { kind: 'user', id: String(id), name: 'ben' }, 200],
    ])
  })

  test('is made for refusals, too: 400, 403, 404, 409', async () => {
    const { token, id } = await server.addUser('cleo')
    const admin = Number((await asAdmin('GET', '/profile')).body.id)
    await server.call('POST', '/user', { token, json: {} })
    await server.call('DELETE', `/user/${admin}`, { token })
    await server.call('DELETE', '/user/999999', { token })
    await asAdmin('POST', '/user', { username: 'x' })
    await asAdmin('POST', '/user', { username: 'cleo', password: ADMIN_PASSWORD })
    await asAdmin('DELETE', `/user/${admin}`)
    await asAdmin('PUT', '/user/abc', {})
    const records = await audit('?records=7')
    expect(records.map(({ user, action, object, status }) => [user, action, object.id, status])).toEqual([
      ['admin', 'user.change', null, 400],
      ['admin', 'user.delete', String(admin), 409],
      ['admin', 'user.create', null, 409],
      ['admin', 'user.create', null, 400],
      ['cleo', 'user.delete', '999999', 404],
      ['cleo', 'user.delete', String(admin), 403],
      ['cleo', 'user.create', null, 403],
    ])
    expect(id).toBeGreaterThan(admin)
  })

  test('is made for sign-ins: right, wrong, locked, refreshed, a refresh token used twice, signed out', async () => {
    await server.addUser('dora')
    const login = (username: string, password: string) =>
      server.call('POST', '/auth/login', { json: { username, password } })
    const { refreshtoken, token } = await server.signIn('DORA')
    await server.call('POST', '/token', { json: { refreshtoken } })
    await server.call('POST', '/token', { json: { refreshtoken } })
    await server.call('POST', '/auth/logout', { token: (await server.signIn('dora')).token })
    for (let count = 0; count < 6; count += 1) await login('dora', 'wrong password!')
    expect(await server.call('GET', '/profile', { token })).toMatchObject({ status: 401 })
    const records = (await audit('?user=dora')).map(({ action, status, user_type }) => [action, status, user_type])
    expect(records).toEqual([
      ['auth.login', 429, 'local'],
      ...Array.from({ length: 5 }, () => ['auth.login', 401, 'local']),
      ['auth.logout', 200, 'local'],
      ['auth.login', 200, 'local'],
      ['auth.refresh', 401, 'local'],
      ['auth.refresh', 200, 'local'],
      ['auth.login', 200, 'local'],
      ['auth.login', 200, 'local'],
    ])
  })

  test('of a sign-in with an unknown name does not have the name, which may be a password', async () => {
    await server.call('POST', '/auth/login', { json: { username: 'hunter2-is-my-password', password: 'ada' } })
    expect(await newest()).toMatchObject({ action: 'auth.login', status: 401, user: null, user_type: null })
  })

  test('is not made for strangers, who could fill the database', async () => {
    const before = (await audit()).length
    await server.call('POST', '/user', { json: {} })
    await server.call('DELETE', '/user/1', { token: 'nonsense' })
    await server.call('POST', '/nothing/here', { token: server.admin })
    expect(await audit()).toHaveLength(before)
  })

  test('never holds values, passwords or tokens', async () => {
    const config = 'roles: [{name: admin, groups: [local/admins]}]'
    await server.writeConfig(config)
    const { id, token, refreshtoken } = await server.addUser('eve')
    const password = 'a password to be found'
    const made = await asAdmin('POST', '/profile/tokens', { name: 'nightly' })
    const apiToken = String(made.body.token)
    await asAdmin('DELETE', `/profile/tokens/${apiToken}`)
    await asAdmin('DELETE', `/profile/tokens/${String(made.body.sid)}`)
    await asAdmin('PUT', `/user/${id}`, { password })
    await asAdmin('PUT', `/user/${password.replaceAll(' ', '')}`, { password })
    await asAdmin('POST', '/user', { username: 'x', password: 'too short' })
    await server.call('POST', '/auth/login', { json: { username: password, password } })
    await server.call('POST', '/token', { json: { refreshtoken } })
    await asAdmin('PUT', '/settings/appearance', { announcement: 'a value to be found' })
    await audit()
    const rows = JSON.stringify(await server.store.read.selectFrom('audit').selectAll().execute())
    for (const secret of [password, 'passwordtobefound', 'too short', 'to be found', token, refreshtoken, apiToken]) {
      expect(rows).not.toContain(secret)
    }
    expect(rows).not.toContain(apiToken.split('.')[1])
    expect(await audit('?records=1&action=token.revoke')).toMatchObject([
      { object: { kind: 'token', id: made.body.sid, name: 'nightly' }, status: 200 },
    ])
  })
})

describe('no change without its record', () => {
  test('the record is in the transaction of the change: if it cannot be stored, nothing is changed', async () => {
    await server.store.write('test', (queries) => queries.schema.alterTable('audit').renameTo('away').execute())
    const answer = await asAdmin('POST', '/user', { username: 'fay', password: ADMIN_PASSWORD })
    expect(answer.status).toBe(500)
    await server.store.write('test', (queries) => queries.schema.alterTable('away').renameTo('audit').execute())
    expect((await asAdmin('GET', '/user')).body.count).toBe(1)
    expect((await asAdmin('POST', '/user', { username: 'fay', password: ADMIN_PASSWORD })).status).toBe(200)
  })

  test('a service that ends before it answers leaves the record without a status', async () => {
    const trail = createAuditTrail({ store: server.store, clock: server.clock, log: { error: () => undefined } })
    const request = { address: '192.0.2.1', action: 'job.abort', kind: 'job', requestId: 'r' }
    await new Promise<void>((resolve, reject) => {
      trail.begin(request).run(() => {
        trail.store.write('test', () => Promise.resolve()).then(resolve, reject)
      })
    })
    expect(await newest()).toMatchObject({ action: 'job.abort', status: null, address: '192.0.2.1' })
  })

  test('a write that is rolled back also undoes its record, and the answer makes a new one', async () => {
    const trail = createAuditTrail({ store: server.store, clock: server.clock, log: { error: () => undefined } })
    const record = trail.begin({ address: '192.0.2.1', action: 'job.abort', kind: 'job', requestId: 'r' })
    await new Promise<void>((resolve) => {
      record.run(() => {
        void trail.store.write('test', () => Promise.reject(new Error('no'))).catch(() => resolve())
      })
    })
    record.finish(500)
    await trail.close()
    expect(await audit('?action=job.abort')).toMatchObject([{ status: 500 }])
  })
})

describe('GET /audit', () => {
  test('pages from the newest to the oldest', async () => {
    for (let count = 0; count < 5; count += 1) await asAdmin('POST', '/lock')
    const all = await audit()
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort((a, b) => b - a))
    const pages: Entry[] = []
    for (let query: string | undefined = '?records=2'; query !== undefined;) {
      const { body, headers } = await asAdmin('GET', `/audit${query}`)
      pages.push(...(body.records as Entry[]))
      query = /^<(\?.*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
    }
    expect(pages).toEqual(all)
  })

  test('filters by user, user type and action', async () => {
    const { token } = await server.addUser('hal')
    await server.call('POST', '/lock', { token })
    await asAdmin('POST', '/lock')
    expect((await audit('?action=lock.take')).map(({ user }) => user)).toEqual(['admin', 'hal'])
    expect((await audit('?action=lock.take&user=hal')).map(({ status }) => status)).toEqual([403])
    expect(await audit('?action=lock.take&user=hal&user_type=ldap')).toEqual([])
    expect(await audit('?user=nobody')).toEqual([])
  })
})

describe('AUDIT_RETENTION_DAYS', () => {
  const DAY = 24 * 3_600_000
  const put = (times: readonly number[]) =>
    server.store.write('test', async (queries) => {
      const entry = { user: null, address: '', action: 'x.y', object: { kind: 'x', id: null, name: null } }
      for (const time of times) await insertAudit(queries, { ...entry, time, status: 200, requestId: '' })
    })
  const left = async () => (await listAudit(server.store.read, { action: 'x.y' }, 5000)).length
  const quiet = { warn: () => undefined }

  test('removes older records at the start and every hour, however many there are', async () => {
    await put(Array.from({ length: 2100 }, (_, index) => server.clock.now() - index))
    server.clock.move(8 * DAY)
    const now = server.clock.now()
    await put([now - 6 * DAY, now])
    const held = heldTimers()
    const { store, clock } = server
    const deps = { store, clock, ages: agesBy(clock), timers: held.timers, log: quiet }
    const retention = createAuditRetention({ ...deps, chain: createAuditChain(deps), keepMs: 7 * DAY })
    await waitFor('the first sweep', async () => (await left()) === 2)
    server.clock.move(2 * DAY)
    held.move(3_600_000)
    await waitFor('the next sweep', async () => (await left()) === 1)
    await retention.close()
  })

  test('0 keeps them for ever', async () => {
    await put([1])
    const { timers } = heldTimers()
    const retention = createAuditRetention({
      store: server.store,
      clock: server.clock,
      ages: agesBy(server.clock),
      log: quiet,
      timers,
      chain: createAuditChain({ store: server.store, clock: server.clock, log: quiet, timers }),
      keepMs: null,
    })
    await retention.sweep()
    await retention.close()
    expect(await left()).toBe(1)
  })
})
