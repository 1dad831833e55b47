import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { ADMIN_PASSWORD, type Answer, type TestServer, startServer } from '../server.js'

/** Sessions of browsers: by a cookie, and only for pages of this service. */
let server: TestServer
beforeAll(async () => {
  server = await startServer({ settings: { ACCESS_TOKEN_REFRESH_EXPIRATION: '1h', SESSION_MAX_AGE: '3h' } })
})
afterAll(() => server.close())

const OUR_PAGE = { 'sec-fetch-site': 'same-origin', 'x-holdfast-page': '1' }
const MINUTE = 60_000

async function signIn(username = 'admin', headers: Record<string, string> = OUR_PAGE): Promise<Answer> {
  return server.call('POST', '/auth/session', { json: { username, password: ADMIN_PASSWORD }, headers })
}

const cookieOf = (answer: Answer) => String(answer.headers.get('set-cookie')).split(';', 1)[0] ?? ''
const profile = (cookie: string, headers: Record<string, string> = OUR_PAGE) =>
  server.call('GET', '/profile', { headers: { ...headers, cookie } })

describe('a session by a cookie', () => {
  test('the answer has no token; scripts and other sites cannot use the cookie', async () => {
    covers('endpoint.browser-session')
    const answer = await signIn()
    expect(answer.body).toEqual({ username: 'admin' })
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-holdfast_session=[0-9a-f]{24}\.[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=10800; Secure$/,
    )
    expect(await profile(cookieOf(answer))).toMatchObject({ status: 200, body: { username: 'admin' } })
  })

  test('only the hash of its secret is stored, and it is not a bearer token', async () => {
    const cookie = cookieOf(await signIn())
    const [id = '', secret = ''] = (cookie.split('=')[1] ?? '').split('.')
    const row = await server.store.read.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirst()
    expect(JSON.stringify(row)).not.toContain(secret)
    for (const token of [secret, `${id}.${secret}`]) {
      expect((await server.call('GET', '/profile', { token })).status).toBe(401)
    }
    expect((await profile(`__Host-holdfast_session=${id}.${'A'.repeat(43)}`)).status).toBe(401)
  })

  test('is in the list of the own sessions, and ends there, by signing out, and with the account', async () => {
    const [first, second] = [cookieOf(await signIn()), cookieOf(await signIn())]
    const listed = await server.call('GET', '/profile/sessions', { headers: { ...OUR_PAGE, cookie: first } })
    const own = (listed.body.records as { id: string; current: boolean }[]).filter(({ current }) => current)
    expect(own.map(({ id }) => id)).toEqual([/session=(\w+)\./.exec(first)?.[1]])
    const end = await server.call('DELETE', `/profile/sessions/${/session=(\w+)\./.exec(second)?.[1]}`, {
      headers: { ...OUR_PAGE, cookie: first },
    })
    expect([end.status, (await profile(second)).status]).toEqual([200, 401])
    const out = await server.call('DELETE', '/auth/session', { headers: { ...OUR_PAGE, cookie: first } })
    expect(out.status).toBe(200)
    expect(out.headers.get('clear-site-data')).toBe('"cache", "storage"')
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
    expect((await profile(first)).status).toBe(401)
    const { id } = await server.addUser('leaver')
    const third = cookieOf(await signIn('leaver'))
    await server.call('PUT', `/user/${id}`, { token: server.admin, json: { enabled: false } })
    expect((await profile(third)).status).toBe(401)
  })

  test('lasts while it is used, and at the latest until SESSION_MAX_AGE', async () => {
    const [used, left] = [cookieOf(await signIn()), cookieOf(await signIn())]
    for (let step = 0; step < 3; step += 1) {
      server.clock.move(50 * MINUTE)
      expect((await profile(used)).status).toBe(200)
    }
    expect((await profile(left)).status).toBe(401)
    server.clock.move(31 * MINUTE)
    expect((await profile(used)).status).toBe(401)
  })

  test('an event stream needs no bearer with it', async () => {
    const stop = new AbortController()
    const answer = await fetch(`${server.url}/api/v2/events`, {
      headers: { cookie: cookieOf(await signIn()), 'sec-fetch-site': 'same-origin' },
      signal: stop.signal,
    })
    expect(answer.status).toBe(200)
    stop.abort()
  })
})

describe('which requests may use the cookie', () => {
  const attempts: readonly (readonly [string, Record<string, string>])[] = [
    ['a page of another site', { 'sec-fetch-site': 'cross-site', 'x-holdfast-page': '1' }],
    ['a neighbour in the domain', { 'sec-fetch-site': 'same-site', 'x-holdfast-page': '1' }],
    ['an address typed by hand', { 'sec-fetch-site': 'none' }],
    ['an old browser on another page', { origin: 'https://evil.example', 'x-holdfast-page': '1' }],
    ['a page that is no page of this service', { 'sec-fetch-site': 'same-origin' }],
    ['nobody knows who', {}],
    ['an HTML form', { ...OUR_PAGE, 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', { ...OUR_PAGE, 'content-type': 'text/plain' }],
  ]

  test.each(attempts)('not %s: nothing happens', async (who, headers) => {
    const cookie = cookieOf(await signIn())
    const user = { username: `made by ${who}`, password: ADMIN_PASSWORD }
    const made = await server.call('POST', '/user', {
      body: JSON.stringify(user),
      headers: { 'content-type': 'application/json', ...headers, cookie },
    })
    expect(made.status).toBe(401)
    expect((await signIn('admin', headers)).status).toBe(403)
    const users = await server.call('GET', '/user', { token: server.admin })
    expect(users.text).not.toContain(user.username)
  })

  test('pages of other sites cannot read either', async () => {
    const cookie = cookieOf(await signIn())
    expect((await profile(cookie, { 'sec-fetch-site': 'same-site' })).status).toBe(401)
    expect((await profile(cookie, { origin: 'https://evil.example' })).status).toBe(401)
    expect((await profile(cookie, { origin: new URL(server.url).origin })).status).toBe(200)
  })

  test('a bearer token has priority over it', async () => {
    const cookie = cookieOf(await signIn())
    const both = await server.call('GET', '/profile', { token: 'wrong', headers: { ...OUR_PAGE, cookie } })
    expect(both.status).toBe(401)
  })
})
