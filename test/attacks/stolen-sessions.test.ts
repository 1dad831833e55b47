import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../api/server.js'
import { covers } from '../interface/covers.js'

/** What somebody gets who has got hold of a session, a token or a first password. */
let server: TestServer
const HOUR = 3_600_000

beforeEach(async () => {
  server = await startServer({
    config: `roles:
  - {name: admin, groups: [local/admins]}
  - {name: robots, groups: [local/robots], scopes: [read], options: {allowApiTokens: true, showAllJobLogs: true}}
`,
  })
})
afterEach(() => server.close())

const status = async (method: string, path: string, token: string, json?: unknown) =>
  (await server.call(method, path, { token, ...(json === undefined ? {} : { json }) })).status
const newToken = (token: string, json: unknown) => server.call('POST', '/profile/tokens', { token, json })

test('a session that is refreshed again and again ends all the same', async () => {
  covers('sign-in.age')
  let { token, refreshtoken } = await server.signIn('admin')
  for (let hours = 0; hours < 30 * 24; hours += 20) {
    const answer = await server.call('POST', '/token', { json: { refreshtoken } })
    expect(answer.status).toBe(200)
    ;({ token, refreshtoken } = answer.body as { token: string; refreshtoken: string })
    server.clock.move(20 * HOUR)
  }
  expect((await server.call('POST', '/token', { json: { refreshtoken } })).status).toBe(401)
  expect(await status('GET', '/profile', token)).toBe(401)
})

test('an admin sees who is signed in, and ends a session and an API token of somebody else', async () => {
  covers('session.all')
  const sam = await server.addUser('sam', ['robots'])
  const api = (await newToken(sam.token, { name: 'nightly' })).body as { sid: string; token: string }
  const { body } = await server.call('GET', `/session?user_id=${sam.id}`, { token: server.admin })
  const records = body.records as { id: string; kind: string; network: string | null; user: string }[]
  expect(records.map(({ kind, user, network }) => [kind, user, network]).sort()).toEqual([
    ['api', 'sam', null],
    ['login', 'sam', '127.0.0.1'],
  ])
  for (const { id } of records) expect(await status('DELETE', `/session/${id}`, server.admin)).toBe(200)
  expect(await status('GET', '/profile', sam.token)).toBe(401)
  expect(await status('GET', '/profile', api.token)).toBe(401)
  expect(await status('DELETE', `/session/${api.sid}`, server.admin)).toBe(404)
})

test('a user ends an own session, and none of somebody else', async () => {
  covers('session.own')
  const sam = await server.addUser('sam')
  const second = await server.signIn('sam')
  const own = async (token: string) =>
    (await server.call('GET', '/profile/sessions', { token })).body.records as { id: string; current: boolean }[]
  const [other] = await own(server.admin)
  expect(await status('DELETE', `/profile/sessions/${other?.id}`, sam.token)).toBe(404)
  expect(await status('DELETE', `/session/${other?.id}`, sam.token)).toBe(403)
  expect(await status('GET', '/session', sam.token)).toBe(403)
  const stolen = (await own(second.token)).find(({ current }) => !current)
  expect(await status('DELETE', `/profile/sessions/${stolen?.id}`, second.token)).toBe(200)
  expect(await status('GET', '/profile', sam.token)).toBe(401)
  expect(await status('GET', '/profile', second.token)).toBe(200)
})

describe('an API token that was made for less', () => {
  test('to read: it reads and changes nothing, an admin’s too', async () => {
    covers('token.scopes')
    const { body } = await newToken(server.admin, { scopes: ['read'] })
    const token = String(body.token)
    expect(await status('GET', '/job', token)).toBe(200)
    expect(await status('GET', '/profile', token)).toBe(200)
    for (const [method, path] of [
      ['POST', '/job'],
      ['POST', '/user'],
      ['PUT', '/profile'],
      ['DELETE', '/job/1'],
    ] as const) {
      expect([method, path, await status(method, path, token, {})]).toEqual([method, path, 403])
    }
    // What only admins may read is not for it either.
    for (const path of ['/user', '/audit', '/credential', '/session']) {
      expect([path, await status('GET', path, token)]).toEqual([path, 403])
    }
  })

  test('to launch: it works with jobs and does nothing that is for admins', async () => {
    covers('token.scopes')
    const { body } = await newToken(server.admin, { scopes: ['launch'] })
    const token = String(body.token)
    expect(await status('GET', '/job', token)).toBe(200)
    expect(await status('POST', '/job', token, { formName: 'there is none' })).toBe(404)
    expect(await status('POST', '/job/77/abort', token)).toBe(404)
    expect(await status('POST', '/user', token, {})).toBe(403)
    expect(await status('GET', '/user', token)).toBe(403)
  })

  test('it can end itself', async () => {
    const token = String((await newToken(server.admin, { scopes: ['read'] })).body.token)
    expect(await status('POST', '/auth/logout', token)).toBe(200)
    expect(await status('GET', '/profile', token)).toBe(401)
  })

  test('a role bounds what tokens may be made for, and what those may do that were made before', async () => {
    covers('token.role-scopes')
    const sam = await server.addUser('sam', ['robots'])
    const refused = await newToken(sam.token, { scopes: ['launch'] })
    expect([refused.status, refused.body.code]).toEqual([403, 'scope_not_allowed'])
    const made = await newToken(sam.token, {})
    expect(made.body.scopes).toEqual(['read'])
    expect(await status('POST', '/job', String(made.body.token), { formName: 'x' })).toBe(403)
    const whole = String((await newToken(server.admin, {})).body.token)
    expect(await status('GET', '/user', whole)).toBe(200)
    await server.writeConfig(`roles:
  - {name: admin, users: [local/nobody]}
  - {name: robots, groups: [local/admins], scopes: [read], options: {allowApiTokens: true}}
`)
    expect(await status('POST', '/job', whole, { formName: 'x' })).toBe(403)
  })
})

test('a password that an admin gave out is good for nothing but a new one', async () => {
  const json = { username: 'fresh', password: ADMIN_PASSWORD, passwordMustChange: true }
  expect((await server.call('POST', '/user', { token: server.admin, json })).body.password_must_change).toBe(true)
  const { body } = await server.call('POST', '/auth/login', { json: { username: 'fresh', password: ADMIN_PASSWORD } })
  expect(body.passwordMustChange).toBe(true)
  const token = String(body.token)
  const refused = await server.call('GET', '/job', { token })
  expect([refused.status, refused.body.code]).toEqual([403, 'password_change_needed'])
  expect(await status('GET', '/events', token)).toBe(403)
  const page = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
  const sent = { json: { username: 'fresh', password: ADMIN_PASSWORD }, headers: page }
  const cookie = String((await server.call('POST', '/auth/session', sent)).headers.get('set-cookie')).split(';', 1)[0]
  const byCookie = await server.call('GET', '/job', { headers: { ...page, cookie: cookie ?? '' } })
  expect([byCookie.status, byCookie.body.code]).toEqual([403, 'password_change_needed'])
  const change = (password: string) => status('PUT', '/profile', token, { password, currentPassword: ADMIN_PASSWORD })
  expect(await change(ADMIN_PASSWORD)).toBe(400)
  expect(await change('a password of my own')).toBe(200)
  const next = await server.signIn('fresh', 'a password of my own')
  expect(await status('GET', '/job', next.token)).toBe(200)
})
