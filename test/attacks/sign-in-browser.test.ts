import { createHash, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { type Browser, createBrowser } from '../support/browser.js'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js'
import { covers } from '../interface/covers.js'

const PUBLIC_URL = 'https://jobs.example.com'
const REDIRECT = 'http://127.0.0.1:4711/back'
const isCallback = ({ pathname }: URL) => pathname.endsWith('/callback')
const isAtProgram = ({ port }: URL) => port === '4711'

let oidc: OpenIdProvider
let server: TestServer
let browser: Browser
beforeAll(async () => {
  oidc = await startOpenIdProvider({ redirectUri: `${PUBLIC_URL}/api/v2/auth/oidc/callback` })
  oidc.know('sub-1', { preferred_username: 'j<b>doe</b>' })
  server = await startServer({
    settings: { PUBLIC_URL },
    config: `roles: [{ name: admin, groups: [local/admins] }]
oidc: { issuer: "${oidc.issuer}", clientId: ${CLIENT.id}, clientCredential: provider }
`,
  })
  await server.writeCredentials(`- name: provider\n  password: ${CLIENT.secret}\n`)
})
afterAll(async () => {
  await server?.close()
  await oidc?.close()
})
beforeEach(() => {
  browser = createBrowser({ [PUBLIC_URL]: server.url })
  oidc.sits('sub-1')
})

const address = (path: string) => `${PUBLIC_URL}/api/v2${path}`
const begin = (machine = 'laptop') => {
  const challenge = createHash('sha256').update(randomBytes(8)).digest('base64url')
  return address(`/auth/oidc?${new URLSearchParams({ redirect: REDIRECT, challenge, machine }).toString()}`)
}
const cookieNames = () => [...browser.cookiesOf(PUBLIC_URL).keys()]

test('sign-ins in two tabs of one browser both come to their end, in any order', async () => {
  const first = await browser.open(address('/auth/oidc'), isCallback)
  // This provider lets go of what it gave a session when the same session signs in again; real ones do not.
  browser.cookiesOf(oidc.origin).clear()
  const second = await browser.open(address('/auth/oidc'), isCallback)
  expect((await browser.open(first.address.href)).status).toBe(200)
  expect((await browser.open(second.address.href)).status).toBe(200)
  expect(cookieNames()).toEqual([])
})

test('a browser that begins again and again keeps no more than a few', async () => {
  const backs = []
  for (let at = 0; at < 12; at += 1) backs.push((await browser.open(address('/auth/oidc'), isCallback)).address.href)
  expect(cookieNames()).toHaveLength(8)
  expect((await browser.open(backs.at(-1) ?? '')).status).toBe(200)
  expect((await browser.open(backs[0] ?? '')).body.code).toBe('sign_in_not_begun')
})

test('a link that somebody sent signs no program in: the page asks first', async () => {
  covers('sign-in.asks')
  const page = await browser.open(begin('<img src=x onerror=alert(1)>\u202e'), isAtProgram)
  expect([page.address.pathname, page.status]).toEqual(['/api/v2/auth/confirm', 200])
  expect(page.text).toContain('<strong>j&lt;b&gt;doe&lt;/b&gt; (oidc)</strong>')
  expect(page.text).toContain('<strong>&lt;img src=x onerror=alert(1)&gt;</strong>')
  expect(page.text).toContain('(127.0.0.1:4711)')
  const { headers } = await server.call('GET', page.address.pathname.slice('/api/v2'.length) + page.address.search, {
    headers: { cookie: [...browser.cookiesOf(PUBLIC_URL)].map(([name, value]) => `${name}=${value}`).join('; ') },
  })
  expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  expect([headers.get('x-frame-options'), headers.get('cache-control')]).toEqual(['DENY', 'no-store'])
  const { address: back } = await browser.press(page, 'no', isAtProgram)
  expect(Object.fromEntries(back.searchParams)).toEqual({
    error: 'sign_in_refused',
    error_description: expect.any(String),
  })
})

test('another page cannot give the answer', async () => {
  const page = await browser.open(begin())
  const cookie = [...browser.cookiesOf(PUBLIC_URL)].map(([name, value]) => `${name}=${value}`).join('; ')
  const tag = page.address.searchParams.get('sign_in') ?? ''
  const ticket = /name="ticket" value="([^"]+)"/.exec(page.text)?.[1] ?? ''
  const post = (given: string, cookies: string) =>
    server.call('POST', '/auth/confirm', {
      body: new URLSearchParams({ sign_in: tag, ticket: given, answer: 'yes' }).toString(),
      headers: { cookie: cookies, 'content-type': 'application/x-www-form-urlencoded' },
    })
  // It has the cookie of the browser on its side, but not the ticket; or a ticket of its own, but not the cookie.
  expect(await post('guessed', cookie)).toMatchObject({ status: 401, body: { code: 'sign_in_refused' } })
  expect(await post(ticket, '')).toMatchObject({ status: 401, body: { code: 'sign_in_not_begun' } })
  const stranger = createBrowser({ [PUBLIC_URL]: server.url })
  const theirs = await stranger.open(begin())
  const theirTicket = /name="ticket" value="([^"]+)"/.exec(theirs.text)?.[1] ?? ''
  expect(await post(theirTicket, cookie)).toMatchObject({ status: 401, body: { code: 'sign_in_refused' } })
  expect(await post(ticket, cookie)).toMatchObject({ status: 302 })
})

test('the question is gone when it was answered, and after ten minutes', async () => {
  covers('sign-in.asks')
  const page = await browser.open(begin())
  await browser.press(page, 'yes', isAtProgram)
  expect((await browser.press(page, 'yes', isAtProgram)).body.code).toBe('sign_in_not_begun')
  const late = await browser.open(begin())
  server.clock.move(10 * 60_000 + 1000)
  expect((await browser.press(late, 'yes', isAtProgram)).body.code).toBe('sign_in_not_begun')
})
