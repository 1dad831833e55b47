import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type Browser, createBrowser } from '../support/browser.js'
import { type ForgingProvider, startForgingProvider } from '../support/forging-provider.js'

const PUBLIC_URL = 'https://jobs.example.com'
const FORMER = 'https://old.example.com/realms/one'

let provider: ForgingProvider
let server: TestServer
let browser: Browser
const log: string[] = []
const linesWith = (text: string) =>
  log.filter((line) => line.includes(text)).map((line) => JSON.parse(line) as Record<string, unknown>)

const configFor = (issuer: string | null, more = '', roles = '') => `roles:
  - {name: admin, groups: [local/admins]}
  - {name: last, groups: [oidc/zzz]}
  - {name: long, groups: [oidc/${'x'.repeat(300)}]}
  - {name: nested, groups: [oidc//parent/child]}
  - {name: named, users: [oidc/Carol]}
${roles}  - {name: default, options: {allowApiTokens: true}}
${issuer === null ? '' : `oidc:\n  issuer: ${issuer}\n  clientId: holdfast\n${more}`}`

beforeAll(async () => {
  provider = await startForgingProvider()
  server = await startServer({ config: configFor(provider.issuer), settings: { PUBLIC_URL }, log })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})
beforeEach(async () => {
  browser = createBrowser({ [PUBLIC_URL]: server.url })
  await server.writeConfig(configFor(provider.issuer))
})

/** Signs in at a provider that says these claims. */
async function signIn(changes: Record<string, unknown>) {
  const { address } = await browser.open(`${PUBLIC_URL}/api/v2/auth/oidc`, ({ origin }) => origin === provider.issuer)
  const now = Math.floor(Date.now() / 1000)
  const nonce = address.searchParams.get('nonce') ?? ''
  const good = { iss: provider.issuer, aud: 'holdfast', sub: 'sub-1', nonce, iat: now, exp: now + 300 }
  provider.forge({ claims: { ...good, preferred_username: 'jdoe', ...changes } })
  const state = address.searchParams.get('state') ?? ''
  return browser.open(`${PUBLIC_URL}/api/v2/auth/oidc/callback?state=${state}&code=a-code`)
}
const profileOf = async (token: unknown) =>
  (await server.call('GET', '/profile', { token: String(token) })).body as Record<string, unknown>
async function profileWith(claims: Record<string, unknown>) {
  const page = await signIn(claims)
  expect([page.status, page.text]).toEqual([200, expect.any(String)])
  return profileOf(page.body.token)
}

describe('a token of the provider', () => {
  test('that was given to another client is refused, also when it is for us alone', async () => {
    expect((await signIn({ azp: 'another' })).body.code).toBe('sign_in_refused')
    expect((await signIn({ azp: 'holdfast' })).status).toBe(200)
  })

  test.each([['true'], [1], [undefined], [null], [false]])(
    'names nobody by an address that is verified by %j',
    async (verified) => {
      await server.writeConfig(configFor(provider.issuer, '  usernameClaim: email\n'))
      const claims = { sub: 'sub-mail', email: 'boss@example.com', email_verified: verified }
      expect((await signIn(claims)).body.code).toBe('sign_in_nameless')
    },
  )
})

describe('groups', () => {
  test('that a role names count however many others there are and however long they are', async () => {
    const groups = [...Array.from({ length: 6000 }, (_, at) => `a${at}`), 'zzz', 'x'.repeat(300), 'y'.repeat(300)]
    const profile = await profileWith({ sub: 'sub-many', preferred_username: 'many', groups })
    expect(profile.roles).toEqual(['last', 'long', 'default'])
    // 6,001 that no role names, of which there is room for 4,998.
    expect(profile.groupsLeftOut).toBe(1003)
    expect(linesWith('were left out').at(-1)).toMatchObject({ level: 40, username: 'many', leftOut: 1003 })
    expect(await profileWith({ sub: 'sub-many', groups: ['zzz'] })).not.toHaveProperty('groupsLeftOut')
  })

  test.each([
    ['realm_access.roles', { realm_access: { roles: ['zzz'] } }],
    ['https://example.com/groups', { 'https://example.com/groups': ['zzz'] }],
    ['https://example\\.com/groups', { 'https://example.com/groups': ['zzz'] }],
    ['resource.my\\.app.roles', { resource: { 'my.app': { roles: ['zzz'] } } }],
  ])('are found where %s leads to', async (path, claims) => {
    await server.writeConfig(configFor(provider.issuer, `  groupsClaim: '${path}'\n`))
    expect((await profileWith({ sub: 'sub-paths', preferred_username: 'paths', ...claims })).roles).toContain('last')
  })

  test('with a path as their name are named so by roles', async () => {
    const profile = await profileWith({ sub: 'sub-full', preferred_username: 'full', groups: ['/parent/child'] })
    expect(profile.roles).toEqual(['nested', 'default'])
  })

  test('are not taken from what every object has', async () => {
    await server.writeConfig(configFor(provider.issuer, '  groupsClaim: constructor.name\n'))
    expect((await profileWith({ sub: 'sub-proto', preferred_username: 'proto' })).groups).toEqual([])
  })
})

describe('what is set up wrongly is for the operator', () => {
  test('a mistyped issuer is 503 and an error in the log, and nobody failed to sign in', async () => {
    const mistyped = provider.issuer.replace('127.0.0.1', 'localhost')
    await server.writeConfig(configFor(mistyped))
    expect(await server.call('GET', '/auth/oidc')).toMatchObject({
      status: 503,
      body: { code: 'provider_unreachable' },
    })
    expect(linesWith('look whether its address is right').at(-1)).toMatchObject({ level: 50, issuer: mistyped })
  })

  test('a password in an address is refused, and never in the log', async () => {
    const text = `${configFor(provider.issuer)}ldap:\n  url: ldaps://reader:hunter2hunter2@dir.example.com\n  searchBase: dc=example\n`
    await server.writeConfig(text)
    expect((await server.call('GET', '/auth/settings')).body).toMatchObject({ ldapEnabled: false })
    expect(linesWith('ldap.url must not hold a name or a password')).toHaveLength(1)
    await server.writeConfig(configFor(provider.issuer.replace('://', '://client:hunter2hunter2@')))
    expect((await server.call('GET', '/auth/settings')).body).toMatchObject({ oidcEnabled: true })
    expect(log.join('')).toContain('oidc.issuer must not hold')
    expect(log.join('')).not.toContain('hunter2')
  })
})

describe('an account', () => {
  test('is kept when the issuer is renamed, and nobody else gets it by that', async () => {
    const before = await profileWith({ sub: 'sub-kept', preferred_username: 'kept' })
    await server.store.write('test.renamed', (queries) =>
      queries
        .updateTable('user')
        .set({ subject: `${FORMER} sub-kept` })
        .where('id', '=', Number(before.id))
        .execute(),
    )
    // Without a word in config.yaml it is somebody else's.
    expect((await signIn({ sub: 'sub-kept', preferred_username: 'kept' })).body.code).toBe('sign_in_refused')
    await server.writeConfig(configFor(provider.issuer, `  formerIssuers: [${FORMER}]\n`))
    expect((await signIn({ sub: 'sub-other', preferred_username: 'kept' })).body.code).toBe('sign_in_refused')
    const after = await profileWith({ sub: 'sub-kept', preferred_username: 'kept' })
    expect(after.id).toBe(before.id)
    // From now on it is known by the new one.
    await server.writeConfig(configFor(provider.issuer))
    expect((await profileWith({ sub: 'sub-kept' })).id).toBe(before.id)
  })

  test('has the roles that name it in whatever letters, and the log says when it is made', async () => {
    expect(linesWith('nobody has this account yet').at(-1)).toMatchObject({ role: 'named', user: 'oidc/Carol' })
    const profile = await profileWith({ sub: 'sub-carol', preferred_username: 'carol' })
    expect(profile.roles).toEqual(['named', 'default'])
    expect(linesWith('a new account has the roles').at(-1)).toMatchObject({ user: 'oidc/carol', roles: ['named'] })
    await profileWith({ sub: 'sub-carol', preferred_username: 'carol' })
    expect(linesWith('a new account has the roles')).toHaveLength(1)
  })

  test('has no roles that name a deleted account, until an admin accepts the name for it', async () => {
    const before = await profileWith({ sub: 'sub-carol', preferred_username: 'carol' })
    expect((await server.call('DELETE', `/user/${String(before.id)}`, { token: server.admin })).status).toBe(200)
    const after = await profileWith({ sub: 'sub-mallory', preferred_username: 'Carol' })
    expect(after).toMatchObject({ roles: ['default'], rolesWithheld: ['named'] })
    expect(linesWith('holdfast user accept-name').at(-1)).toMatchObject({ user: 'oidc/Carol', id: after.id })
    await server.call('POST', `/user/${String(after.id)}/accept-name`, { token: server.admin })
    expect((await profileWith({ sub: 'sub-mallory' })).roles).toEqual(['named', 'default'])
  })

  test('of a provider that is taken out of config.yaml is nobody any more, with all of its tokens', async () => {
    const page = await signIn({ sub: 'sub-gone', preferred_username: 'gone' })
    const token = String(page.body.token)
    const made = await server.call('POST', '/profile/tokens', { token, json: {} })
    const apiToken = String(made.body.token)
    expect((await server.call('GET', '/profile', { token: apiToken })).status).toBe(200)
    for (const config of [configFor(null), configFor('https://another.example.com')]) {
      await server.writeConfig(config)
      for (const one of [token, apiToken]) {
        expect((await server.call('GET', '/profile', { token: one })).body.code).toBe('provider_gone')
      }
    }
    const refreshed = await server.call('POST', '/token', { json: { refreshtoken: page.body.refreshtoken } })
    expect([refreshed.status, refreshed.body.code]).toEqual([401, 'session_ended'])
    // It is ended for good, also when the provider comes back.
    await server.writeConfig(configFor(provider.issuer))
    const again = await server.call('POST', '/token', { json: { refreshtoken: page.body.refreshtoken } })
    expect([again.status, again.body.code]).toEqual([401, 'session_ended'])
  })
})
