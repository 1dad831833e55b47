import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type Browser, type Page, createBrowser } from '../../support/browser.js'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../../support/openid-provider.js'
import { type TestServer, startServer } from '../server.js'

const PUBLIC_URL = 'https://jobs.example.com'
const TENANT = '6dd0fcbe-7a66-4e15-a5e4-b71d4a7ad3f2'
const COOKIE = /^__Host-holdfast_sign_in_[0-9a-f]{16}$/
/** The cookie of the one sign-in under way. */
const nameOfCookie = () => [...browser.cookiesOf(PUBLIC_URL).keys()].find((name) => COOKIE.test(name)) ?? 'none'
const MINUTE = 60_000
const FORM = 'name: open\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields: []\n'

let oidc: OpenIdProvider
let entra: OpenIdProvider
let server: TestServer
let browser: Browser
const log: string[] = []
/** What Microsoft Graph answers: pages of memberships, or a status. */
let memberships: readonly (readonly object[])[] | number = []
let nextElsewhere: string | null = null
let graphTokens: string[] = []

/** Microsoft Graph: the memberships of whoever has the token. */
function graph(request: IncomingMessage, response: ServerResponse): boolean {
  const url = new URL(request.url ?? '/', entra.origin)
  if (url.pathname !== '/graph/v1.0/me/memberOf') return false
  graphTokens.push(request.headers.authorization ?? '')
  if (typeof memberships === 'number') {
    response.writeHead(memberships).end()
    return true
  }
  const page = Number(url.searchParams.get('page') ?? 0)
  const next = nextElsewhere ?? `${entra.origin}/graph/v1.0/me/memberOf?page=${page + 1}`
  const more = page + 1 < memberships.length ? { '@odata.nextLink': next } : {}
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ value: memberships[page] ?? [], ...more }))
  return true
}

const config = (change: (text: string) => string = (text) => text) =>
  change(`roles:
  - name: admin
    groups: [local/admins, oidc/admins]
  - name: operators
    groups: [oidc/ops, azuread/Operators]
  - name: default
    options: { allowApiTokens: true }
oidc:
  issuer: ${oidc.issuer}
  clientId: ${CLIENT.id}
  clientCredential: provider
  groupFilter: ^(ops|admins)$
azuread:
  tenantId: ${TENANT}
  clientId: ${CLIENT.id}
  clientCredential: provider
  authority: ${entra.origin}
  graphUrl: ${entra.origin}/graph
`)

beforeAll(async () => {
  const redirectUri = (kind: string) => `${PUBLIC_URL}/api/v2/auth/${kind}/callback`
  oidc = await startOpenIdProvider({ redirectUri: redirectUri('oidc') })
  entra = await startOpenIdProvider({
    redirectUri: redirectUri('azuread'),
    path: `/${TENANT}/v2.0`,
    claimsInToken: true,
    secretInBody: true,
    beside: graph,
  })
  oidc.know('sub-1', { preferred_username: 'jdoe', email: 'jdoe@example.com', groups: ['ops', 'everybody'] })
  oidc.know('sub-2', { preferred_username: 'boss', groups: 'admins' })
  entra.know('sub-3', { preferred_username: 'Eve@example.com', oid: 'oid-3', email: 'eve@example.com' })
  server = await startServer({ config: config(), settings: { PUBLIC_URL }, log, forms: { 'open.yml': FORM } })
  await server.writeCredentials(`- name: provider\n  password: ${CLIENT.secret}\n`)
})
afterAll(async () => {
  await server?.close()
  await oidc?.close()
  await entra?.close()
})
beforeEach(() => {
  browser = createBrowser({ [PUBLIC_URL]: server.url })
  memberships = []
  nextElsewhere = null
  graphTokens = []
})

const address = (path: string) => `${PUBLIC_URL}/api/v2${path}`
const asAdmin = async (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: (await server.signIn('admin')).token, json })
const isCallback = ({ pathname }: URL) => pathname.endsWith('/callback')

/** Signs in as somebody and gives the tokens. */
async function signIn(kind: 'oidc' | 'azuread', sub: string): Promise<Page> {
  const provider = kind === 'oidc' ? oidc : entra
  provider.sits(sub)
  return createBrowser({ [PUBLIC_URL]: server.url }).open(address(`/auth/${kind}`))
}
async function profileOf(page: Pick<Page, 'status' | 'body' | 'text'>) {
  expect([page.status, page.text]).toEqual([200, expect.any(String)])
  return (await server.call('GET', '/profile', { token: String(page.body.token) })).body
}
/** Goes to the provider and stops before the way back. */
async function wayBack(sub: string): Promise<URL> {
  oidc.sits(sub)
  return (await browser.open(address('/auth/oidc'), isCallback)).address
}
const expectRefused = (page: Page, code = 'sign_in_refused') =>
  expect([page.status, page.body]).toEqual([401, { error: expect.any(String), code }])

describe('OpenID Connect', () => {
  test('a user who signs in at the provider is signed in here, with groups and roles', async () => {
    covers('auth.oidc')
    const page = await signIn('oidc', 'sub-1')
    expect(page.address.pathname).toBe('/api/v2/auth/oidc/callback')
    expect(await profileOf(page)).toMatchObject({
      username: 'jdoe',
      type: 'oidc',
      email: 'jdoe@example.com',
      groups: ['oidc/ops'],
      roles: ['operators', 'default'],
    })
    const { body } = await server.call('GET', '/auth/settings')
    expect(body).toEqual({ ldapEnabled: false, azureAdEnabled: true, oidcEnabled: true, publicUrl: PUBLIC_URL })
  })

  test('who has come from one group into another has the roles of the new one, at the next sign-in', async () => {
    const groupsAre = async (groups: readonly string[]) => {
      oidc.know('sub-moved', { preferred_username: 'moved', groups: [...groups] })
      return profileOf(await signIn('oidc', 'sub-moved'))
    }
    const admin = await groupsAre(['admins'])
    expect(admin).toMatchObject({ groups: ['oidc/admins'], roles: expect.arrayContaining(['admin']) as string[] })
    const moved = await groupsAre(['ops'])
    expect(moved).toMatchObject({ id: admin.id, groups: ['oidc/ops'], roles: ['operators', 'default'] })
    expect(await groupsAre(['ops'])).toEqual(moved)
  })

  test('a page is signed in by a cookie and goes on where it was; a refusal comes back to it as a code', async () => {
    covers('endpoint.browser-sign-in')
    oidc.sits('sub-1')
    const page = await browser.open(address('/auth/oidc?to=/jobs/12'))
    expect([page.address.href, page.status]).toEqual([`${PUBLIC_URL}/jobs/12`, 200])
    const cookie = [...browser.cookiesOf(PUBLIC_URL)].map((pair) => pair.join('=')).join('; ')
    expect(cookie).toContain('holdfast_session=')
    const profile = await server.call('GET', '/profile', { headers: { cookie, 'sec-fetch-site': 'same-origin' } })
    expect(profile.body).toMatchObject({ username: 'jdoe', type: 'oidc' })
    for (const elsewhere of ['//evil.example', 'https://evil.example', '/\\evil.example']) {
      const answer = await server.call('GET', `/auth/oidc?to=${encodeURIComponent(elsewhere)}`)
      expect([elsewhere, answer.status]).toEqual([elsewhere, 400])
    }
    const back = await browser.open(address('/auth/oidc?to=/jobs'), isCallback)
    back.address.searchParams.set('code', 'another')
    const refused = (await browser.open(back.address.href, ({ pathname }) => pathname === '/sign-in')).address
    expect(refused.searchParams.get('refused')).toMatch(/^[a-z_]+$/)
    expect(refused.searchParams.get('to')).toBe('/jobs')
  })

  test('several sign-ins are one user, with refresh and API tokens, and the audit trail has every sign-in', async () => {
    const first = await profileOf(await signIn('oidc', 'sub-2'))
    const page = await signIn('oidc', 'sub-2')
    expect((await profileOf(page)).id).toBe(first.id)
    expect((await server.call('GET', '/user', { token: String(page.body.token) })).status).toBe(200)
    const next = await server.call('POST', '/token', { json: { refreshtoken: page.body.refreshtoken } })
    const made = await server.call('POST', '/profile/tokens', { token: String(next.body.token), json: {} })
    expect(await profileOf(made)).toMatchObject({ username: 'boss', type: 'oidc' })
    const trail = await asAdmin('GET', '/audit?action=auth.login&user=boss&user_type=oidc')
    expect((trail.body.records as { status: number }[]).map(({ status }) => status)).toEqual([200, 200])
  })

  test('the cookie is only for this host, not for scripts, and is removed after the sign-in', async () => {
    const begun = await server.call('GET', '/auth/oidc')
    expect(begun.headers.get('set-cookie')).toMatch(
      /^__Host-holdfast_sign_in_[0-9a-f]{16}=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/,
    )
    expect(begun.headers.get('cache-control')).toBe('no-store')
    const asked = new URL(String(begun.body.location)).searchParams
    expect(Object.fromEntries(asked)).toMatchObject({
      response_type: 'code',
      client_id: CLIENT.id,
      code_challenge_method: 'S256',
      state: expect.any(String),
      nonce: expect.any(String),
      redirect_uri: address('/auth/oidc/callback'),
      scope: 'openid profile email',
    })
    const back = await wayBack('sub-1')
    expect(nameOfCookie()).toMatch(COOKIE)
    await browser.open(back.href)
    expect(nameOfCookie()).toBe('none')
  })

  test('signing out gives the address that ends the session at the provider, but not for a local user', async () => {
    const { body } = await signIn('oidc', 'sub-1')
    const out = await server.call('POST', '/auth/logout', { token: String(body.token) })
    expect(out.body).toEqual({
      message: 'Signed out',
      logoutUrl: `${oidc.issuer}/session/end?client_id=${CLIENT.id}`,
    })
    expect((await server.call('GET', '/profile', { token: String(body.token) })).status).toBe(401)
    const { token } = await server.signIn('admin')
    expect((await server.call('POST', '/auth/logout', { token })).body).toEqual({ message: 'Signed out' })
  })

  test('a user whom an admin has blocked cannot sign in, also with another name', async () => {
    oidc.know('sub-4', { preferred_username: 'blocked' })
    const { id } = await profileOf(await signIn('oidc', 'sub-4'))
    await asAdmin('PUT', `/user/${Number(id)}`, { enabled: false })
    expectRefused(await signIn('oidc', 'sub-4'))
    oidc.know('sub-4', { preferred_username: 'somebody-new' })
    expectRefused(await signIn('oidc', 'sub-4'))
    const trail = await asAdmin('GET', '/audit?action=auth.login&user=blocked')
    expect((trail.body.records as { status: number }[]).map(({ status }) => status)).toEqual([401, 401, 200])
  })

  test('nobody gets an account because of its name, and a renamed user keeps the account', async () => {
    oidc.know('sub-5', { preferred_username: 'first' })
    const { id } = await profileOf(await signIn('oidc', 'sub-5'))
    oidc.know('sub-6', { preferred_username: 'First' })
    expectRefused(await signIn('oidc', 'sub-6'))
    expect(log.join('')).toContain('another person has an account of that name')
    oidc.know('sub-5', { preferred_username: 'second', groups: ['ops'] })
    expect(await profileOf(await signIn('oidc', 'sub-5'))).toMatchObject({
      id,
      username: 'first',
      groups: ['oidc/ops'],
    })
    await asAdmin('DELETE', `/user/${Number(id)}`)
    expect((await profileOf(await signIn('oidc', 'sub-6'))).id).not.toBe(id)
  })

  test('a user who cancels at the provider is not signed in', async () => {
    oidc.nobodySignedIn()
    expectRefused(await browser.open(address('/auth/oidc')))
  })
})

describe('the way back from the provider', () => {
  test('works once', async () => {
    const back = await wayBack('sub-1')
    const name = nameOfCookie()
    const cookie = browser.cookiesOf(PUBLIC_URL).get(name) ?? ''
    expect((await browser.open(back.href)).status).toBe(200)
    expectRefused(await browser.open(back.href), 'sign_in_not_begun')
    browser.cookiesOf(PUBLIC_URL).set(name, cookie)
    expectRefused(await browser.open(back.href))
  })

  test('works only in the browser that began it', async () => {
    const back = await wayBack('sub-1')
    expectRefused(await createBrowser({ [PUBLIC_URL]: server.url }).open(back.href), 'sign_in_not_begun')
    const another = createBrowser({ [PUBLIC_URL]: server.url })
    await another.open(address('/auth/oidc'), isCallback)
    expectRefused(await another.open(back.href), 'sign_in_not_begun')
  })

  test.each([
    ['state', (url: URL) => url.searchParams.set('state', 'another'), 'sign_in_not_begun'],
    ['no state', (url: URL) => url.searchParams.delete('state'), 'sign_in_not_begun'],
    ['code', (url: URL) => url.searchParams.set('code', 'another'), 'sign_in_refused'],
    ['issuer', (url: URL) => url.searchParams.set('iss', 'https://another.example.com'), 'sign_in_refused'],
  ])('with another %s is refused', async (_what, change, code) => {
    const back = await wayBack('sub-1')
    change(back)
    expectRefused(await browser.open(back.href), code)
  })

  test('with a changed cookie, or one of the other kind, is refused', async () => {
    const back = await wayBack('sub-1')
    const cookies = browser.cookiesOf(PUBLIC_URL)
    const name = nameOfCookie()
    const cookie = cookies.get(name) ?? ''
    const at = cookie.length - 30
    cookies.set(name, cookie.slice(0, at) + (cookie.charAt(at) === 'A' ? 'B' : 'A') + cookie.slice(at + 1))
    expectRefused(await browser.open(back.href), 'sign_in_not_begun')
    cookies.set(name, cookie)
    expectRefused(await browser.open(back.href.replace('/oidc/', '/azuread/')), 'sign_in_not_begun')
  })

  test('comes too late after ten minutes', async () => {
    const back = await wayBack('sub-1')
    server.clock.move(10 * MINUTE + 1000)
    expectRefused(await browser.open(back.href), 'sign_in_not_begun')
  })

  test('counts as a failed sign-in when it is refused', async () => {
    const failures = async () =>
      Number(/^af_login_failures_total (\d+)$/m.exec((await asAdmin('GET', '/metrics')).text)?.[1])
    const before = await failures()
    await browser.open(address('/auth/oidc/callback?code=a&state=b'))
    expect(await failures()).toBe(before + 1)
  })
})

describe('a program that opened the browser', () => {
  const REDIRECT = 'http://127.0.0.1:4711/back'
  const isAtProgram = ({ port }: URL) => port === '4711'
  const newVerifier = () => randomBytes(32).toString('base64url')
  const begin = (verifier: string, redirect = REDIRECT) => {
    const challenge = createHash('sha256').update(verifier).digest('base64url')
    return address(`/auth/oidc?${new URLSearchParams({ redirect, challenge }).toString()}`)
  }
  const codeFor = async (verifier: string) => {
    oidc.sits('sub-1')
    const page = await browser.open(begin(verifier))
    const { address: back } = await browser.press(page, 'yes', isAtProgram)
    expect(back.href.startsWith(`${REDIRECT}?code=`)).toBe(true)
    return back.searchParams.get('code') ?? ''
  }
  const exchange = (code: string, verifier: string) =>
    server.call('POST', '/auth/exchange', { json: { code, verifier } })

  test('gets a code, and tokens for it, once', async () => {
    const verifier = newVerifier()
    const code = await codeFor(verifier)
    expect(await profileOf(await exchange(code, verifier))).toMatchObject({ username: 'jdoe', type: 'oidc' })
    const again = await exchange(code, verifier)
    expect([again.status, again.body.code]).toEqual([401, 'code_invalid'])
    const trail = await asAdmin('GET', '/audit?action=auth.exchange')
    expect((trail.body.records as object[]).slice(0, 2)).toEqual([
      expect.objectContaining({ user: null, status: 401 }),
      expect.objectContaining({ user: 'jdoe', user_type: 'oidc', status: 200 }),
    ])
  })

  test('has to send the verifier of its challenge; a wrong one uses up the code', async () => {
    const verifier = newVerifier()
    const code = await codeFor(verifier)
    expect((await exchange(code, newVerifier())).status).toBe(401)
    expect((await exchange(code, verifier)).status).toBe(401)
  })

  test('has a minute to use its code', async () => {
    const verifier = newVerifier()
    const code = await codeFor(verifier)
    server.clock.move(MINUTE)
    expect((await exchange(code, verifier)).status).toBe(401)
  })

  test('gets nothing for a user who was blocked meanwhile', async () => {
    const verifier = newVerifier()
    const { id } = await profileOf(await signIn('oidc', 'sub-1'))
    const code = await codeFor(verifier)
    await asAdmin('PUT', `/user/${Number(id)}`, { enabled: false })
    expect((await exchange(code, verifier)).status).toBe(401)
    await asAdmin('PUT', `/user/${Number(id)}`, { enabled: true })
  })

  test('learns of a refused sign-in, and the audit trail does not count it as a sign-in', async () => {
    oidc.nobodySignedIn()
    const { address: back } = await browser.open(begin(newVerifier()), isAtProgram)
    expect(Object.fromEntries(back.searchParams)).toEqual({
      error: 'sign_in_refused',
      error_description: expect.any(String),
    })
    const { body } = await asAdmin('GET', '/audit?action=auth.login&records=2')
    expect((body.records as { user: string; status: number }[]).find(({ user }) => user === null)?.status).toBe(401)
  })

  test.each([
    'https://evil.example.com/back',
    'http://evil.example.com:4711/back',
    'http://127.0.0.1.evil.example.com:4711/back',
    'http://127.0.0.1@evil.example.com:4711/back',
    'http://127.0.0.1/back',
    'https://127.0.0.1:4711/back',
    'http://127.0.0.1:4711/back#code',
    'javascript:alert(1)',
    'nonsense',
  ])('cannot be at %s', async (redirect) => {
    expect(await browser.open(begin(newVerifier(), redirect))).toMatchObject({
      status: 400,
      body: { code: 'invalid_redirect' },
    })
  })

  test('has to send a challenge', async () => {
    for (const challenge of ['', '&challenge=short']) {
      const { status, body } = await server.call(
        'GET',
        `/auth/oidc?redirect=${encodeURIComponent(REDIRECT)}${challenge}`,
      )
      expect([status, body.code]).toEqual([400, 'invalid_challenge'])
    }
  })
})

describe('Entra ID', () => {
  test('a user has the groups of Microsoft Graph, by name and by id, from all pages', async () => {
    covers('auth.azuread')
    const group = (id: string, displayName: string | null) => ({
      '@odata.type': '#microsoft.graph.group',
      id,
      displayName,
    })
    memberships = [
      [
        group('id-1', 'Operators'),
        { '@odata.type': '#microsoft.graph.directoryRole', id: 'id-2', displayName: 'Admin' },
      ],
      [group('id-3', null)],
    ]
    expect(await profileOf(await signIn('azuread', 'sub-3'))).toMatchObject({
      username: 'Eve@example.com',
      type: 'azuread',
      email: 'eve@example.com',
      groups: ['azuread/Operators', 'azuread/id:id-1', 'azuread/id:id-3'],
      roles: ['operators', 'default'],
    })
    expect(graphTokens).toEqual([expect.stringMatching(/^Bearer ./), graphTokens[0]])
  })

  test('asks for the permission to read groups', async () => {
    const { body } = await server.call('GET', '/auth/azuread')
    expect(new URL(String(body.location)).searchParams.get('scope')).toBe(
      `openid profile email ${entra.origin}/User.Read ${entra.origin}/GroupMember.Read.All`,
    )
  })

  test.each([
    ['an error of Graph', () => (memberships = 500), 'Microsoft Graph answered 500'],
    ['an answer of another kind', () => (memberships = [[{ id: 5 }]]), 'no list of memberships'],
    [
      'a next page on another server, which would get the token',
      () => {
        memberships = [[], []]
        nextElsewhere = 'https://evil.example.com/next'
      },
      'elsewhere: https://evil.example.com',
    ],
  ])('%s is 503: without groups there are no roles', async (_what, prepare, reason) => {
    prepare()
    const page = await signIn('azuread', 'sub-3')
    expect([page.status, page.body.code]).toEqual([503, 'groups_unreachable'])
    expect(log.join('')).toContain(reason)
  })
})

describe('users of each kind', () => {
  test('own the jobs that they launch, users with the same name do not, and they have no password here', async () => {
    covers('rule-5.user-type')
    entra.know('sub-7', { preferred_username: 'jdoe', oid: 'oid-7' })
    const idsOf = (answer: { readonly body: Record<string, unknown> }) =>
      (answer.body.records as { id: number }[]).map(({ id }) => id)
    for (const [kind, sub] of [
      ['oidc', 'sub-1'],
      ['azuread', 'sub-7'],
    ] as const) {
      const token = String((await signIn(kind, sub)).body.token)
      const { body } = await server.call('POST', '/job', { token, json: { formName: 'open', rawFormData: {} } })
      expect(body).toEqual({ id: expect.any(Number) })
      expect(idsOf(await server.call('GET', '/job', { token }))).toEqual([body.id])
      expect(idsOf(await asAdmin('GET', `/job?user=jdoe&user_type=${kind}`))).toEqual([body.id])
      const job = await server.call('GET', `/job/${Number(body.id)}`, { token })
      expect([job.status, job.body.user, job.body.user_type]).toEqual([200, 'jdoe', kind])
      const json = { password: 'a new good password', currentPassword: 'x' }
      const own = await server.call('PUT', '/profile', { token, json })
      expect([own.status, own.body.code]).toEqual([400, 'not_local'])
    }
    const { body } = await asAdmin('GET', '/user')
    const types = (body.records as { username: string; type: string }[]).map(
      ({ username, type }) => `${type}/${username}`,
    )
    expect(types).toEqual(expect.arrayContaining(['local/admin', 'oidc/jdoe', 'azuread/jdoe']))
  })
})

describe('missing settings', () => {
  test('a kind that config.yaml does not have is 404', async () => {
    await server.writeConfig(config((text) => text.slice(0, text.indexOf('oidc:\n'))))
    try {
      for (const path of ['/auth/oidc', '/auth/azuread']) {
        expect(await server.call('GET', path)).toMatchObject({ status: 404, body: { code: 'sign_in_off' } })
      }
      expect((await server.call('GET', '/auth/settings')).body).toMatchObject({
        azureAdEnabled: false,
        oidcEnabled: false,
      })
    } finally {
      await server.writeConfig(config())
    }
  })

  test.each([
    [
      'a provider that is away',
      (text: string) => text.replace(oidc.issuer, 'http://127.0.0.1:9'),
      'provider_unreachable',
    ],
    ['a credential that there is not', (text: string) => text.replaceAll('provider\n', 'none\n'), 'sign_in_credential'],
  ])('%s is 503', async (_what, change, code) => {
    await server.writeConfig(config(change))
    try {
      expect(await server.call('GET', '/auth/oidc')).toMatchObject({ status: 503, body: { code } })
    } finally {
      await server.writeConfig(config())
    }
  })

  test('a provider that failed is asked again at the next sign-in', async () => {
    let isBroken = true
    const provider = createServer((_request, response) => {
      const at = { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` }
      response.writeHead(isBroken ? 503 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(at))
    }).listen(0, '127.0.0.1')
    await once(provider, 'listening')
    const issuer = `http://127.0.0.1:${(provider.address() as AddressInfo).port}`
    await server.writeConfig(config((text) => text.replace(oidc.issuer, issuer)))
    const begin = async () => (await fetch(`${server.url}/api/v2/auth/oidc`, { redirect: 'manual' })).status
    try {
      expect(await begin()).toBe(503)
      isBroken = false
      expect(await begin()).toBe(302)
    } finally {
      provider.close()
      await server.writeConfig(config())
    }
  })

  test('a wrong secret of the client is 503, and the log says so without the secret', async () => {
    await server.writeCredentials('- name: provider\n  password: a wrong secret\n')
    try {
      const page = await signIn('oidc', 'sub-1')
      expect([page.status, page.body.code]).toEqual([503, 'provider_refused'])
      expect(log.join('')).toContain('does not know the service by this client id and secret')
      expect(log.join('')).not.toContain('a wrong secret')
    } finally {
      await server.writeCredentials(`- name: provider\n  password: ${CLIENT.secret}\n`)
    }
  })

  test('without PUBLIC_URL the provider cannot send users back: 503 that names the setting', async () => {
    const lines: string[] = []
    const own = await startServer({ config: config(), log: lines })
    try {
      expect(lines.join('')).toContain('set PUBLIC_URL')
      const { status, body } = await own.call('GET', '/auth/oidc')
      expect([status, body.code, body.error]).toEqual([
        503,
        'public_url_missing',
        expect.stringContaining('PUBLIC_URL'),
      ])
      expect((await own.call('GET', '/auth/settings')).body).toMatchObject({ oidcEnabled: false })
    } finally {
      await own.close()
    }
  })

  test.each([
    ['an issuer without TLS', 'issuer: .*', 'issuer: http://id.example.com', 'oidc.issuer must begin with https'],
    ['a pattern that is none', 'groupFilter: .*', 'groupFilter: "["', 'oidc.groupFilter'],
    ['a secret', 'clientId: .*', 'clientSecret: x\n  clientId: a', 'oidc.clientSecret'],
    ['a tenant that is many', 'tenantId: .*', 'tenantId: common', 'azuread.tenantId'],
  ])('%s in config.yaml is reported, and the earlier settings stay in force', async (_what, from, to, reason) => {
    await server.writeConfig(config((text) => text.replace(new RegExp(from), to)))
    try {
      expect((await signIn('oidc', 'sub-1')).status).toBe(200)
      expect(log.join('')).toContain(reason)
    } finally {
      await server.writeConfig(config())
    }
  })
})
