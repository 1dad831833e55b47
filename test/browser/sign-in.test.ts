import { writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { PEOPLE, READER, type Slapd, startSlapd } from '../support/slapd.js'
import { accessFaults } from './kit/axe.js'
import { newPerson, signInOn, signOutOf, startChromium, userMenuOf } from './kit/chromium.js'

/** Who is not a local user signs in on the page: at OpenLDAP's server, and at providers that are of another site. */
const PASSWORD = 'the password of the directory'
const TENANT = '6dd0fcbe-7a66-4e15-a5e4-b71d4a7ad3f2'
const FORM = 'name: Deploy\ntype: ansible\nplaybook: x.yml\nroles: [operators]\nfields: []\n'

let product: Product
let browser: Browser
let slapd: Slapd
let oidc: OpenIdProvider
let entra: OpenIdProvider
/** The address of the pages: another site than the providers, which are at 127.0.0.1. */
let address: string

/** Microsoft Graph: the memberships of whoever asks. */
function graph(request: IncomingMessage, response: ServerResponse): boolean {
  if (!request.url?.startsWith('/graph/v1.0/me/memberOf')) return false
  response.writeHead(200, { 'content-type': 'application/json' })
  response.end(JSON.stringify({ value: [{ id: 'id-1', displayName: 'Operators' }] }))
  return true
}

const config = () => `roles:
  - {name: admin, groups: [local/admins]}
  - {name: operators, groups: [ldap/ops, oidc/ops, azuread/Operators]}
  - {name: default, groups: []}
ldap:
  url: ${slapd.url}
  searchBase: ${PEOPLE}
  bindCredential: directory
oidc:
  issuer: ${oidc.issuer}
  clientId: ${CLIENT.id}
  clientCredential: provider
azuread:
  tenantId: ${TENANT}
  clientId: ${CLIENT.id}
  clientCredential: provider
  authority: ${entra.origin}
  graphUrl: ${entra.origin}/graph
`
const credentials = () => `- {name: provider, password: ${CLIENT.secret}}
- {name: directory, user: "${READER.dn}", password: ${READER.password}}
`

beforeAll(async () => {
  const settings: Record<string, string> = {}
  ;[browser, slapd, product] = await Promise.all([
    startChromium(),
    startSlapd(),
    startProduct({ forms: { 'deploy.yml': FORM }, controlPlane: settings, withAgent: false }),
  ])
  address = product.address.replace('127.0.0.1', 'localhost')
  const redirectUri = (kind: string) => `${address}/api/v2/auth/${kind}/callback`
  oidc = await startOpenIdProvider({ redirectUri: redirectUri('oidc') })
  entra = await startOpenIdProvider({
    redirectUri: redirectUri('azuread'),
    path: `/${TENANT}/v2.0`,
    claimsInToken: true,
    secretInBody: true,
    beside: graph,
  })
  oidc.know('sub-1', { preferred_username: 'jdoe', email: 'jdoe@example.com', groups: ['ops'] })
  entra.know('sub-3', { preferred_username: 'eve@example.com', oid: 'oid-3' })
  await slapd.addPerson('lena', PASSWORD)
  await slapd.addGroup('ops', ['lena'])
  // The providers had to know the port of the pages first.
  settings.PUBLIC_URL = address
  for (const [name, text] of [
    ['config.yaml', config()],
    ['credentials.yaml', credentials()],
  ] as const) {
    writeFileSync(join(product.folder, 'persistent', name), text, { mode: 0o600 })
  }
  await product.controlPlane.stop('SIGTERM')
  await product.startControlPlane()
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
  await Promise.all([slapd?.close(), oidc?.close(), entra?.close()])
})

const whoIs = (page: Page, name: string) => userMenuOf(page, name).waitFor()
const provider = (page: Page, name: string) => page.getByRole('link', { name: `Sign in with ${name}` })

test('a user of the directory signs in with name and password, has the roles of their groups, and goes on where they wanted to', async () => {
  const { page, faults, close } = await newPerson(browser, address)
  await page.goto(`${address}/forms/Deploy`)
  await page.getByText('Accounts of your directory work here, too.').waitFor()
  await provider(page, 'OpenID Connect').waitFor()
  expect(await accessFaults(page)).toEqual([])
  await page.getByLabel('Username').fill('lena')
  await page.getByLabel('Password').fill('a wrong one')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('alert').waitFor()
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await whoIs(page, 'lena (ldap)')
  await page.getByRole('button', { name: 'Launch' }).waitFor()
  await userMenuOf(page, 'lena (ldap)').click()
  await page.getByRole('link', { name: 'Your account' }).click()
  await page.getByText('operators', { exact: false }).first().waitFor()

  // A directory that is away is no wrong password, and local users are let in all the same.
  await signOutOf(page, 'lena (ldap)')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await slapd.stop()
  await page.getByLabel('Username').fill('lena')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page
    .getByRole('alert')
    .filter({ hasText: /directory/i })
    .waitFor()
  await signInOn(page, 'admin', ADMIN_PASSWORD)
  await slapd.start()
  expect(await faults()).toEqual([])
  await close()
})

test.each([
  ['OpenID Connect', () => oidc, 'sub-1', 'jdoe (oidc)'],
  ['Entra ID', () => entra, 'sub-3', 'eve@example.com (azuread)'],
] as const)(
  'by %s one comes back to the page where one wanted to go, and a refusal is said there',
  async (name, at, sub, shown) => {
    const person = await newPerson(browser, address)
    const { page } = person
    // The place on the page, such as a line of an output, stands behind the #.
    await page.goto(`${address}/forms/Deploy?from=9#L5`)
    at().nobodySignedIn()
    await provider(page, name).click()
    await page.getByText('The sign-in at the provider did not work.').waitFor()
    expect(new URL(page.url()).pathname).toBe('/sign-in')
    expect(await accessFaults(page)).toEqual([])
    at().sits(sub)
    await provider(page, name).click()
    await whoIs(page, shown)
    expect(page.url()).toBe(`${address}/forms/Deploy?from=9#L5`)
    // Nothing that a script or another site could carry away.
    expect(await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe(
      '{}{}',
    )

    // A session that is over is gone on with at the provider, too.
    await page.goto(`${address}/runners`)
    await page.getByRole('heading', { name: 'Runners', level: 1 }).waitFor()
    await page.evaluate(`fetch('/api/v2/auth/session', { method: 'DELETE', headers: { 'x-holdfast-page': '1' } })`)
    const dialog = page.getByRole('dialog', { name: 'Your session is over' })
    await dialog.getByRole('link', { name: `Sign in with ${name}` }).click()
    await page.getByRole('heading', { name: 'Runners', level: 1 }).waitFor()
    await whoIs(page, shown)
    const elsewhere = (await person.faults()).filter((fault) => !fault.startsWith(`asked ${at().origin}/`))
    expect(elsewhere).toEqual([])
    await person.close()
  },
)
