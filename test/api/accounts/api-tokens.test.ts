import { beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { ADMIN_PASSWORD, type Answer, type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** API tokens: bearers for scripts, behind the role option `allowApiTokens`. */
const CONFIG = `
roles:
  - {name: admin, groups: [local/admins]}
  - {name: scripts, groups: [local/scripts], options: {allowApiTokens: true}}
`
const DAY = 24 * 3_600_000

let server: TestServer
let sam: { id: number; token: string }
beforeEach(async () => {
  server = await startServer({ config: CONFIG })
  sam = await server.addUser('sam', ['scripts'])
  return () => server.close()
})

const make = (token: string, json?: unknown): Promise<Answer> => server.call('POST', '/profile/tokens', { token, json })
const list = async (token: string) =>
  (await server.call('GET', '/profile/tokens', { token })).body.records as Record<string, unknown>[]
const status = async (token: string) => (await server.call('GET', '/profile', { token })).status

async function newToken(owner = sam.token): Promise<{ sid: string; token: string }> {
  const { body } = await make(owner, { name: 'nightly' })
  return body as { sid: string; token: string }
}

describe('making one', () => {
  test('an API token is shown once, with its name, creation and expiry', async () => {
    covers('token.api')
    const { status, body, headers } = await make(sam.token, { name: 'nightly', expiryDays: 7 })
    const now = server.clock.now()
    const shown = {
      sid: expect.stringMatching(/^[0-9a-f]{24}$/),
      name: 'nightly',
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + 7 * DAY).toISOString(),
      last_used_at: null,
      scopes: null,
    }
    expect([status, body]).toEqual([200, { ...shown, token: expect.stringMatching(/^hfat_[0-9a-f]+\.[\w-]{32}$/) }])
    expect(headers.get('cache-control')).toBe('no-store')
    expect(await list(sam.token)).toEqual([shown])
  })

  test('it is stored as a hash only', async () => {
    const { token } = await newToken()
    const rows = JSON.stringify(await server.store.read.selectFrom('session').selectAll().execute())
    expect(rows).not.toContain(token.split('.')[1])
  })

  test('without a body it has no name and is good for 30 days', async () => {
    for (const json of [undefined, {}]) {
      const { status, body } = await make(sam.token, json)
      expect([status, body.name]).toEqual([200, null])
      expect(Date.parse(String(body.expires_at)) - Date.parse(String(body.created_at))).toBe(30 * DAY)
    }
  })

  test.each([
    [{ expiryDays: 0 }],
    [{ expiryDays: -1 }],
    [{ expiryDays: 1.5 }],
    [{ expiryDays: '7' }],
    [{ expiryDays: 'never' }],
    [{ expiryDays: 91 }],
    [{ name: '' }],
    [{ name: 'x'.repeat(101) }],
    [{ name: 5 }],
    [[]],
  ])('%j is refused', async (json) => {
    const answer = await make(sam.token, json)
    expect([answer.status, await list(sam.token)]).toEqual([400, []])
  })

  test('a time over API_TOKEN_MAX_DAYS is refused, and the error names the maximum', async () => {
    const { body } = await make(sam.token, { expiryDays: 91 })
    expect(body).toMatchObject({ code: 'too_long', details: { most: 90 } })
    expect((await make(sam.token, { expiryDays: 90 })).status).toBe(200)
  })

  test('it takes the role option allowApiTokens, which is off unless a role says otherwise', async () => {
    covers('token.api')
    const { token } = await server.addUser('nora')
    // The body is not looked at: who may not do it learns nothing from it.
    for (const json of [{}, { expiryDays: 'never' }, []]) {
      const answer = await make(token, json)
      expect([answer.status, answer.body.code]).toEqual([403, 'api_tokens_not_allowed'])
    }
    expect((await make(server.admin)).status).toBe(200)
  })

  test('an API token cannot make API tokens', async () => {
    const { token } = await newToken()
    const answer = await make(token, { name: 'child' })
    expect([answer.status, answer.body.code]).toEqual([403, 'sign_in_needed'])
    expect(await list(sam.token)).toHaveLength(1)
  })
})

describe('using one', () => {
  test('it is a bearer token everywhere, until its end and with the present roles', async () => {
    const { token } = await newToken()
    expect((await server.call('GET', '/profile', { token })).body).toMatchObject({
      username: 'sam',
      roles: ['scripts', 'default'],
    })
    expect((await server.call('GET', '/user', { token })).status).toBe(403)
    await server.call('PUT', `/user/${sam.id}`, { token: server.admin, json: { groups: ['scripts', 'admins'] } })
    expect((await server.call('GET', '/user', { token })).status).toBe(200)
    server.clock.move(30 * DAY - 1)
    expect(await status(token)).toBe(200)
    server.clock.move(1)
    expect(await status(token)).toBe(401)
  })

  test('it opens the event stream', async () => {
    const { token } = await newToken()
    const stop = new AbortController()
    const answer = await fetch(`${server.url}/api/v2/events`, {
      headers: { authorization: `Bearer ${token}` },
      signal: stop.signal,
    })
    expect(answer.status).toBe(200)
    stop.abort()
  })

  test('the last use is stored, at most once a minute', async () => {
    const { token, sid } = await newToken()
    const lastUse = async () => (await list(sam.token)).find((one) => one.sid === sid)?.last_used_at
    const used = server.clock.now()
    await status(token)
    await waitFor('the use to be noted', async () => (await lastUse()) === new Date(used).toISOString())
    server.clock.move(59_000)
    await status(token)
    server.clock.move(1000)
    await status(token)
    await waitFor('the later use', async () => (await lastUse()) === new Date(used + 60_000).toISOString())
  })

  test('a changed or incomplete token is refused', async () => {
    const { token, sid } = await newToken()
    const other = await newToken()
    for (const wrong of [
      token.slice(0, -1),
      `${token}x`,
      `hfat_${sid}.`,
      `hfat_${sid}`,
      'hfat_',
      `hfat_${sid}.${other.token.split('.')[1] ?? ''}`,
      token.replace('hfat_', ''),
    ]) {
      const answer = await server.call('GET', '/profile', { token: wrong })
      expect([wrong, answer.status, answer.headers.get('www-authenticate')]).toEqual([wrong, 401, 'Bearer'])
    }
    expect((await server.call('POST', '/token', { json: { refreshtoken: token } })).status).toBe(401)
  })

  test('without the role option it is refused at the next request, and works again when the option is back', async () => {
    const { token } = await newToken()
    await server.call('PUT', `/user/${sam.id}`, { token: server.admin, json: { groups: [] } })
    const answer = await server.call('GET', '/profile', { token })
    expect([answer.status, answer.body.code]).toEqual([401, 'token_not_allowed'])
    expect(await list(sam.token)).toHaveLength(1)
    await server.call('PUT', `/user/${sam.id}`, { token: server.admin, json: { groups: ['scripts'] } })
    expect(await status(token)).toBe(200)
  })
})

describe('the end of one', () => {
  test('only its owner revokes it, with a sign-in or with a token', async () => {
    covers('token.api')
    const [one, two] = [await newToken(), await newToken()]
    const revoke = (sid: string, token: string) => server.call('DELETE', `/profile/tokens/${sid}`, { token })
    expect((await revoke(one.sid, server.admin)).status).toBe(404)
    expect((await revoke('unknown', sam.token)).status).toBe(404)
    expect(await status(one.token)).toBe(200)
    expect((await revoke(one.sid, sam.token)).status).toBe(200)
    expect((await revoke(one.sid, sam.token)).status).toBe(404)
    expect([await status(one.token), await status(two.token)]).toEqual([401, 200])
    expect((await revoke(two.sid, two.token)).status).toBe(200)
    expect(await status(two.token)).toBe(401)
  })

  test('a sign-in is not an API token: it is neither listed nor revoked as one', async () => {
    const rows = await server.store.read.selectFrom('session').select('id').where('user_id', '=', sam.id).execute()
    expect(await list(sam.token)).toEqual([])
    const answer = await server.call('DELETE', `/profile/tokens/${rows[0]?.id ?? ''}`, { token: sam.token })
    expect([rows.length, answer.status, await status(sam.token)]).toEqual([1, 404, 200])
  })

  test.each<[string, () => Promise<unknown>]>([
    ['blocking', () => server.call('PUT', `/user/${sam.id}`, { token: server.admin, json: { enabled: false } })],
    ['deleting the user', () => server.call('DELETE', `/user/${sam.id}`, { token: server.admin })],
    [
      'a new password by an admin',
      () => server.call('PUT', `/user/${sam.id}`, { token: server.admin, json: { password: 'another good password' } }),
    ],
    [
      'a new password of one’s own',
      () =>
        server.call('PUT', '/profile', {
          token: sam.token,
          json: { password: 'another good password', currentPassword: ADMIN_PASSWORD },
        }),
    ],
  ])('%s ends the API tokens', async (_what, end) => {
    const { token } = await newToken()
    expect(await status(token)).toBe(200)
    await end()
    expect(await status(token)).toBe(401)
  })

  test('logging out ends the session and leaves the API tokens', async () => {
    const { token } = await newToken()
    await server.call('POST', '/auth/logout', { token: sam.token })
    expect([await status(sam.token), await status(token)]).toEqual([401, 200])
    await server.call('POST', '/auth/logout', { token })
    expect(await status(token)).toBe(401)
  })
})
