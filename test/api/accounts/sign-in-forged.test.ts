import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Browser, createBrowser } from '../../support/browser.js'
import { type Forgery, type ForgingProvider, startForgingProvider } from '../../support/forging-provider.js'
import { type TestServer, startServer } from '../server.js'

const PUBLIC_URL = 'https://jobs.example.com'
const CLIENT_ID = 'holdfast'

let provider: ForgingProvider
let server: TestServer
let browser: Browser
const log: string[] = []

const configFor = (issuer: string, more = '') => `roles:
  - name: admin
    groups: [local/admins]
oidc:
  issuer: ${issuer}
  clientId: ${CLIENT_ID}
${more}`

beforeAll(async () => {
  provider = await startForgingProvider()
  server = await startServer({ config: configFor(provider.issuer), settings: { PUBLIC_URL }, log })
})
afterAll(async () => {
  await server?.close()
  await provider?.close()
})
beforeEach(() => {
  browser = createBrowser({ [PUBLIC_URL]: server.url })
})

/** The claims of a good token for a sign-in with this nonce. */
const goodClaims = (nonce: string): Record<string, unknown> => {
  const now = Math.floor(Date.now() / 1000)
  return {
    iss: provider.issuer,
    aud: CLIENT_ID,
    sub: 'sub-1',
    nonce,
    iat: now,
    exp: now + 300,
    preferred_username: 'jdoe',
    groups: ['ops', 7, ''],
  }
}

/** Begins a sign-in and comes back from a provider that says what it is told to. */
async function comeBack(forge: (claims: Record<string, unknown>) => Forgery, query = '&code=a-code') {
  const { address } = await browser.open(`${PUBLIC_URL}/api/v2/auth/oidc`, ({ origin }) => origin === provider.issuer)
  const nonce = address.searchParams.get('nonce') ?? ''
  if (nonce === '') throw new Error(log.slice(-4).join(''))
  provider.forge(forge(goodClaims(nonce)))
  const state = address.searchParams.get('state') ?? ''
  return browser.open(`${PUBLIC_URL}/api/v2/auth/oidc/callback?state=${state}${query}`)
}

describe('a token of the provider', () => {
  test('that is valid is accepted', async () => {
    const page = await comeBack((claims) => ({ claims }))
    const { body } = await server.call('GET', '/profile', { token: String(page.body.token) })
    expect(body).toMatchObject({ username: 'jdoe', type: 'oidc', groups: ['oidc/ops'] })
  })

  test.each<[string, (claims: Record<string, unknown>) => Forgery]>([
    ['for another client', (claims) => ({ claims: { ...claims, aud: 'another' } })],
    ['of another provider', (claims) => ({ claims: { ...claims, iss: 'https://another.example.com' } })],
    ['of another sign-in', (claims) => ({ claims: { ...claims, nonce: 'another' } })],
    ['without a nonce', (claims) => ({ claims: { ...claims, nonce: undefined } })],
    ['that has expired', (claims) => ({ claims: { ...claims, exp: Number(claims.iat) - 120 } })],
    ['about nobody', (claims) => ({ claims: { ...claims, sub: undefined } })],
    ['signed by somebody else', (claims) => ({ claims, signedBy: 'another' })],
    ['signed by nobody', (claims) => ({ claims, signedBy: 'nobody' })],
    ['for a code that is none', (claims) => ({ claims, answer: { status: 400, body: '{"error":"invalid_grant"}' } })],
    [
      'that is missing',
      (claims) => ({ claims, answer: { status: 200, body: '{"access_token":"a","token_type":"Bearer"}' } }),
    ],
  ])('%s is refused', async (_what, forge) => {
    const page = await comeBack(forge)
    expect([page.status, page.body]).toEqual([401, { error: expect.any(String), code: 'sign_in_refused' }])
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['no name', { preferred_username: undefined }, 'sign_in_nameless'],
    ['a name that is none', { preferred_username: 7 }, 'sign_in_nameless'],
    ['a name with a line break', { preferred_username: 'jdoe\nroot' }, 'sign_in_refused'],
    ['a name that turns the text around it', { preferred_username: 'jdoe\u202e' }, 'sign_in_refused'],
    ['a name that is too long', { preferred_username: 'x'.repeat(201) }, 'sign_in_refused'],
  ])('with %s is refused', async (_what, changes, code) => {
    const page = await comeBack((claims) => ({ claims: { ...claims, sub: 'sub-2', ...changes } }))
    expect([page.status, page.body.code]).toEqual([401, code])
  })

  test('with an unverified address gives no name', async () => {
    await server.writeConfig(configFor(provider.issuer, '  usernameClaim: email\n'))
    try {
      const named = (verified: boolean) => (claims: Record<string, unknown>) => ({
        claims: { ...claims, sub: 'sub-3', email: 'boss@example.com', email_verified: verified },
      })
      expect((await comeBack(named(false))).body.code).toBe('sign_in_nameless')
      expect((await comeBack(named(true))).status).toBe(200)
    } finally {
      await server.writeConfig(configFor(provider.issuer))
    }
  })
})

describe('a provider', () => {
  test.each<[string, Forgery['answer']]>([
    ['fails', { status: 500, body: '{}' }],
    ['does not know the client', { status: 400, body: '{"error":"unauthorized_client"}' }],
    ['says no JSON', { status: 200, body: 'oops' }],
  ])('that %s is 503 and does not count as a failed sign-in', async (_what, answer) => {
    const page = await comeBack((claims) => ({ claims, answer }))
    expect([page.status, page.body.code]).toEqual([503, expect.stringMatching(/^provider_/)])
  })

  test('that sends back an error causes a refusal, and its words only go to the log', async () => {
    const page = await comeBack((claims) => ({ claims }), '&error=access_denied&error_description=words-of-a-stranger')
    expect([page.status, page.body.code]).toEqual([401, 'sign_in_refused'])
    expect(page.text).not.toContain('words-of-a-stranger')
    expect(log.join('')).toContain('access_denied')
  })

  test('that names the user only in a second answer must name the same person in both', async () => {
    const asked = await startForgingProvider()
    const own = await startServer({ config: configFor(asked.issuer), settings: { PUBLIC_URL } })
    try {
      const another = createBrowser({ [PUBLIC_URL]: own.url })
      const signIn = async (sub: string) => {
        asked.forge({ claims: {}, userinfo: {} })
        const { address } = await another.open(
          `${PUBLIC_URL}/api/v2/auth/oidc`,
          ({ origin }) => origin === asked.issuer,
        )
        const { preferred_username: _, ...claims } = goodClaims(address.searchParams.get('nonce') ?? '')
        asked.forge({
          claims: { ...claims, iss: asked.issuer },
          userinfo: { sub, preferred_username: 'told-later', groups: 'later' },
        })
        const state = address.searchParams.get('state') ?? ''
        return another.open(`${PUBLIC_URL}/api/v2/auth/oidc/callback?state=${state}&code=a`)
      }
      expect((await signIn('somebody-else')).status).toBe(401)
      const page = await signIn('sub-1')
      const { body } = await own.call('GET', '/profile', { token: String(page.body.token) })
      expect(body).toMatchObject({ username: 'told-later', groups: ['oidc/ops'] })
    } finally {
      await own.close()
      await asked.close()
    }
  })
})
