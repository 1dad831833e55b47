import { before } from '../../support/ages.js'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deleteExpiredSessions } from '../../../control-plane/src/store/accounts/sessions.js'
import { ADMIN_PASSWORD, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: doctors, groups: [local/A\u0308rzte]}
  - {name: default, groups: []}
`

let server: TestServer
beforeAll(async () => {
  server = await startServer({ config: CONFIG })
})
afterAll(() => server.close())

function basic(username: string, password: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}` } }
}

const login = (username: string, password: string) =>
  server.call('POST', '/auth/login', { json: { username, password } })
const profile = async (token: string) => (await server.call('GET', '/profile', { token })).status

describe('signing in', () => {
  test('with a JSON body', async () => {
    covers('sign-in.json', 'sign-in.pair', 'auth.local')
    const answer = await login('admin', ADMIN_PASSWORD)
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body).sort()).toEqual(['refreshtoken', 'token'])
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })

  test('with HTTP Basic and no body', async () => {
    covers('sign-in.basic', 'sign-in.pair')
    const answer = await server.call('POST', '/auth/login', basic('admin', ADMIN_PASSWORD))
    expect(answer.status).toBe(200)
    expect(await profile(String(answer.body.token))).toBe(200)
  })

  test('a password may contain colons and letters of any script', async () => {
    const password = 'a:b:c pässwörd 密码'
    await server.call('POST', '/user', { token: server.admin, json: { username: 'colon', password } })
    expect((await server.call('POST', '/auth/login', basic('colon', password))).status).toBe(200)
  })

  test('the name is the same in upper and lower case', async () => {
    const { status, body } = await login('ADMIN', ADMIN_PASSWORD)
    expect(status).toBe(200)
    expect((await server.call('GET', '/profile', { token: String(body.token) })).body.username).toBe('admin')
  })

  test('names, groups and passwords are the same however a keyboard composes their letters', async () => {
    const [composed, decomposed] = ['j\u00f6rg', 'jo\u0308rg']
    const make = (more: object) =>
      server.call('POST', '/user', {
        token: server.admin,
        json: { username: decomposed, groups: ['\u00c4rzte'], ...more },
      })
    // A letter and its accent are one letter of the shortest password.
    expect((await make({ password: 'a\u0308'.repeat(7) })).status).toBe(400)
    expect((await make({ password: 'ein langes Pa\u0308sswort' })).status).toBe(200)
    expect((await login(composed, 'ein langes P\u00e4sswort')).status).toBe(200)
    const { status, body } = await server.call(
      'POST',
      '/auth/login',
      basic(decomposed, 'ein\u00a0langes Pa\u0308sswort'),
    )
    expect(status).toBe(200)
    const token = String(body.token)
    expect((await server.call('GET', '/profile', { token })).body).toMatchObject({
      username: composed,
      roles: ['doctors', 'default'],
    })
    await server.call('POST', '/lock', { token })
    for (const name of [composed, decomposed]) {
      const path = `/audit?action=lock.take&user=${encodeURIComponent(name)}`
      expect((await server.call('GET', path, { token: server.admin })).body.count).toBe(1)
    }
  })

  test('without credentials it is 401, and with malformed ones 400', async () => {
    expect((await server.call('POST', '/auth/login')).status).toBe(401)
    expect((await server.call('POST', '/auth/login', basic('', 'x'))).status).toBe(401)
    expect((await server.call('POST', '/auth/login', { headers: { authorization: 'Basic !!!' } })).status).toBe(401)
    for (const json of [
      {},
      { username: 'admin' },
      { username: 5, password: 'x' },
      { username: '', password: '' },
      [],
      'x',
    ]) {
      expect([json, (await server.call('POST', '/auth/login', { json })).status]).toEqual([json, 400])
    }
  })

  test('an unknown name and a wrong password look the same', async () => {
    await server.addUser('looks')
    const unknown = await login('nobody-at-all', 'whatever it is')
    const wrong = await login('looks', 'whatever it is')
    const blocked = await server.addUser('blocked')
    await server.call('PUT', `/user/${blocked.id}`, { token: server.admin, json: { enabled: false } })
    const right = await login('blocked', ADMIN_PASSWORD)
    for (const answer of [unknown, wrong, right]) {
      expect([answer.status, answer.body]).toEqual([
        401,
        { error: 'Wrong username or password', code: 'wrong_credentials' },
      ])
    }
  })

  test('the tokens have only the documented content', async () => {
    const { token, refreshtoken } = await server.signIn('admin')
    const access = decodeJwt(token)
    expect(access).toMatchObject({ access: true, sub: expect.any(String), sid: expect.any(String) })
    expect(Number(access.exp) - Number(access.iat)).toBe(30 * 60)
    const refresh = decodeJwt(refreshtoken)
    expect(refresh).toMatchObject({ refresh: true, sid: access.sid })
    expect(Number(refresh.exp) - Number(refresh.iat)).toBe(24 * 3600)
    expect(refresh.access).toBeUndefined()
  })

  test('passwords and refresh tokens are not in clear in the database', async () => {
    const { refreshtoken } = await server.signIn('admin')
    const { jti } = decodeJwt(refreshtoken)
    const users = await server.store.read.selectFrom('user').selectAll().execute()
    const sessions = await server.store.read.selectFrom('session').selectAll().execute()
    expect(users[0]?.password_hash).toMatch(/^\$argon2id\$/)
    expect(JSON.stringify([users, sessions])).not.toContain(jti)
    expect(JSON.stringify(users)).not.toContain(ADMIN_PASSWORD)
  })
})

describe('tokens', () => {
  test('a refresh token is not a bearer token, and an access token refreshes nothing', async () => {
    const { token, refreshtoken } = await server.signIn('admin')
    expect(await profile(refreshtoken)).toBe(401)
    expect((await server.call('POST', '/token', { json: { refreshtoken: token } })).status).toBe(401)
    expect(await profile(token)).toBe(200)
  })

  test('a refresh token gives a new pair', async () => {
    covers('sign-in.refresh')
    const first = await server.signIn('admin')
    const { status, body } = await server.call('POST', '/token', { json: { refreshtoken: first.refreshtoken } })
    expect(status).toBe(200)
    expect(body.refreshtoken).not.toBe(first.refreshtoken)
    expect(await profile(String(body.token))).toBe(200)
    expect(await profile(first.token)).toBe(200)
  })

  test('a refresh token that is used again ends the session', async () => {
    covers('sign-in.refresh')
    const first = await server.signIn('admin')
    const second = (await server.call('POST', '/token', { json: { refreshtoken: first.refreshtoken } })).body
    const again = await server.call('POST', '/token', { json: { refreshtoken: first.refreshtoken } })
    expect([again.status, again.body.code]).toEqual([401, 'token_reused'])
    expect(await profile(String(second.token))).toBe(401)
    expect((await server.call('POST', '/token', { json: { refreshtoken: second.refreshtoken } })).status).toBe(401)
  })

  test('of two uses at the same moment at most one gets a pair, and the session ends', async () => {
    const { refreshtoken, token } = await server.signIn('admin')
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => server.call('POST', '/token', { json: { refreshtoken } })),
    )
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
    expect(await profile(token)).toBe(401)
  })

  test('wrong and missing refresh tokens', async () => {
    expect((await server.call('POST', '/token')).status).toBe(400)
    expect((await server.call('POST', '/token', { json: {} })).status).toBe(400)
    expect((await server.call('POST', '/token', { json: { refreshtoken: 5 } })).status).toBe(400)
    expect((await server.call('POST', '/token', { json: { refreshtoken: 'x.y.z' } })).status).toBe(401)
  })

  test('a changed token is refused', async () => {
    const { token } = await server.signIn('admin')
    const [head, , signature] = token.split('.')
    const forged = Buffer.from(JSON.stringify({ ...decodeJwt(token), sub: '1' })).toString('base64url')
    expect(await profile(`${head}.${forged}x.${signature}`)).toBe(401)
    expect(await profile(token.slice(0, -3))).toBe(401)
  })

  test('logout ends the session with both tokens', async () => {
    covers('sign-in.logout')
    const { token, refreshtoken } = await server.signIn('admin')
    const answer = await server.call('POST', '/auth/logout', { token })
    expect([answer.status, answer.body.message]).toEqual([200, expect.any(String)])
    expect(await profile(token)).toBe(401)
    expect((await server.call('POST', '/token', { json: { refreshtoken } })).status).toBe(401)
    expect((await server.call('POST', '/auth/logout')).status).toBe(401)
  })
})

describe('time', () => {
  let own: TestServer
  beforeEach(async () => {
    own = await startServer()
    return () => own.close()
  })

  test('an access token ends after half an hour, its refresh token goes on', async () => {
    covers('sign-in.expiry', 'answer.401')
    const { token, refreshtoken } = await own.signIn('admin')
    own.clock.move(29 * MINUTE)
    expect((await own.call('GET', '/profile', { token })).status).toBe(200)
    own.clock.move(2 * MINUTE)
    const late = await own.call('GET', '/profile', { token })
    expect([late.status, late.body.code]).toEqual([401, 'token_expired'])
    expect((await own.call('POST', '/token', { json: { refreshtoken } })).status).toBe(200)
  })

  test('a refreshed session goes on; another one ends after a day and is removed', async () => {
    covers('sign-in.expiry')
    const kept = await own.signIn('admin')
    const left = await own.signIn('admin')
    own.clock.move(23 * HOUR)
    const next = await own.call('POST', '/token', { json: { refreshtoken: kept.refreshtoken } })
    own.clock.move(2 * HOUR)
    expect((await own.call('POST', '/token', { json: { refreshtoken: left.refreshtoken } })).status).toBe(401)
    expect((await own.call('POST', '/token', { json: { refreshtoken: next.body.refreshtoken } })).status).toBe(200)
    const swept = await own.store.write('test', (queries) => deleteExpiredSessions(queries, before(own.clock.now())))
    expect(swept).toBeGreaterThanOrEqual(1)
  })
})

describe('guessing', () => {
  let own: TestServer
  beforeEach(async () => {
    own = await startServer()
    return () => own.close()
  })
  const guess = (username: string, password = 'wrong password!') =>
    own.call('POST', '/auth/login', { json: { username, password } })

  test('five failures lock an account for a quarter of an hour', async () => {
    covers('sign-in.lock-account', 'answer.429')
    await own.addUser('guessed')
    for (let count = 0; count < 5; count += 1) expect((await guess('guessed')).status).toBe(401)
    const locked = await guess('guessed', ADMIN_PASSWORD)
    expect([locked.status, locked.headers.get('retry-after')]).toEqual([429, '900'])
    own.clock.move(14 * MINUTE)
    const still = await guess('Guessed', ADMIN_PASSWORD)
    expect([still.status, still.headers.get('retry-after')]).toEqual([429, '60'])
    expect((await guess('admin', ADMIN_PASSWORD)).status).toBe(200)
    own.clock.move(MINUTE + 1)
    expect((await guess('guessed', ADMIN_PASSWORD)).status).toBe(200)
  })

  test('a locked account does not reveal whether the password was right, or whether there is such an account', async () => {
    await own.addUser('sealed')
    for (let count = 0; count < 5; count += 1) await guess('sealed')
    for (let count = 0; count < 5; count += 1) await guess('nobody')
    const right = await guess('sealed', ADMIN_PASSWORD)
    const held = { error: expect.any(String) as string, code: 'sign_in_held_back' }
    expect([right.status, right.body]).toEqual([429, held])
    for (const other of [await guess('sealed'), await guess('nobody'), await guess('nobody', ADMIN_PASSWORD)]) {
      expect([other.status, other.body]).toEqual([429, right.body])
      expect(other.headers.get('retry-after')).toBe(right.headers.get('retry-after'))
    }
    // Tries while it is locked neither open it nor keep it locked for longer.
    own.clock.move(15 * MINUTE + 1)
    expect((await guess('sealed', ADMIN_PASSWORD)).status).toBe(200)
  })

  test('a signed-in user stays signed in while the account is locked', async () => {
    const { token, refreshtoken } = await own.addUser('guarded')
    for (let count = 0; count < 6; count += 1) await guess('guarded')
    expect((await own.call('GET', '/profile', { token })).status).toBe(200)
    expect((await own.call('POST', '/token', { json: { refreshtoken } })).status).toBe(200)
  })

  test('an unknown name is locked in the same way', async () => {
    for (let count = 0; count < 5; count += 1) await guess('ghost')
    expect((await guess('ghost')).status).toBe(429)
  })

  test('guesses at the same moment are counted one by one', async () => {
    await own.addUser('parallel')
    const answers = await Promise.all(Array.from({ length: 20 }, () => guess('parallel')))
    expect(answers.filter((answer) => answer.status === 401)).toHaveLength(5)
    expect(answers.filter((answer) => answer.status === 429)).toHaveLength(15)
  })

  test('failures are forgotten after a success, and after some time', async () => {
    for (let count = 0; count < 4; count += 1) await guess('admin')
    expect((await guess('admin', ADMIN_PASSWORD)).status).toBe(200)
    for (let count = 0; count < 4; count += 1) await guess('admin')
    own.clock.move(15 * MINUTE)
    for (let count = 0; count < 4; count += 1) await guess('admin')
    expect((await guess('admin', ADMIN_PASSWORD)).status).toBe(200)
  })

  test('an address is locked after thirty failures, except for users who have signed in from there', async () => {
    covers('sign-in.lock-address', 'answer.429')
    const password = 'a password of a newcomer'
    await own.call('POST', '/user', { token: own.admin, json: { username: 'newcomer', password } })
    for (let count = 0; count < 30; count += 1) expect((await guess(`name-${count}`)).status).toBe(401)
    const held = await guess('newcomer', password)
    expect([held.status, held.headers.get('retry-after')]).toEqual([429, '900'])
    expect((await guess('admin', ADMIN_PASSWORD)).status).toBe(200)
    own.clock.move(15 * MINUTE + 1)
    expect((await guess('newcomer', password)).status).toBe(200)
  })

  test('each lock of a name lasts twice as long, until a day has passed', async () => {
    const minutesHeld = async () => {
      for (let count = 0; count < 5; count += 1) await guess('patient')
      return Number((await guess('patient')).headers.get('retry-after')) / 60
    }
    for (const minutes of [15, 30, 60, 120]) {
      expect(await minutesHeld()).toBe(minutes)
      own.clock.move(minutes * MINUTE + 1)
    }
    own.clock.move(25 * HOUR)
    expect(await minutesHeld()).toBe(15)
  })

  test('a new password by an admin unlocks an account', async () => {
    const { id } = await own.addUser('helped')
    for (let count = 0; count < 5; count += 1) await guess('helped')
    const password = 'another good password'
    await own.call('PUT', `/user/${id}`, { token: own.admin, json: { password } })
    expect((await guess('helped', password)).status).toBe(200)
  })

  test('X-Forwarded-For only counts behind a trusted proxy', async () => {
    const from = (target: TestServer, address: string, password: string) =>
      target.call('POST', '/auth/login', {
        json: { username: `user-of-${address}`, password },
        headers: { 'x-forwarded-for': address },
      })
    for (let count = 0; count < 30; count += 1) await from(own, `10.0.0.${count}`, 'x')
    expect((await from(own, '10.0.1.1', 'x')).status).toBe(429)

    const proxied = await startServer({ settings: { TRUST_PROXY: '1' } })
    try {
      for (let count = 0; count < 30; count += 1) await from(proxied, `10.0.0.${count}`, 'x')
      expect((await from(proxied, '10.0.1.1', 'x')).status).toBe(401)
      // What a client puts before the proxy's own entry is only a claim.
      for (let count = 0; count < 30; count += 1) await from(proxied, `10.0.2.${count}, 192.0.2.7`, 'x')
      expect((await from(proxied, '10.0.3.1, 192.0.2.7', 'x')).status).toBe(429)
    } finally {
      await proxied.close()
    }
  })
})
