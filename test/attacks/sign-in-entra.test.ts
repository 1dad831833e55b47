import type { IncomingMessage, ServerResponse } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestServer, startServer } from '../api/server.js'
import { createBrowser } from '../support/browser.js'
import { CLIENT, type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js'

const PUBLIC_URL = 'https://jobs.example.com'
const TENANT = '6dd0fcbe-7a66-4e15-a5e4-b71d4a7ad3f2'
const ADMINS = '1f0a2b3c-1111-4222-8333-abcdefabcdef'
const OPERATORS = '2f0a2b3c-1111-4222-8333-abcdefabcdef'

let entra: OpenIdProvider
let server: TestServer
let memberships: readonly { readonly id: string; readonly displayName: string | null }[] = []
const log: string[] = []

function graph(request: IncomingMessage, response: ServerResponse): boolean {
  if (!(request.url ?? '').startsWith('/graph/v1.0/me/memberOf')) return false
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ value: memberships }))
  return true
}

beforeAll(async () => {
  entra = await startOpenIdProvider({
    redirectUri: `${PUBLIC_URL}/api/v2/auth/azuread/callback`,
    path: `/${TENANT}/v2.0`,
    claimsInToken: true,
    secretInBody: true,
    beside: graph,
  })
  entra.know('mallory', { preferred_username: 'mallory@example.com', oid: 'oid-mallory' })
  const config = `roles:
  - {name: admin, groups: [local/admins, azuread/${ADMINS}]}
  - {name: operators, groups: ["azuread/ID:${OPERATORS.toUpperCase()}"]}
  - {name: readers, groups: [azuread/Readers]}
  - {name: default, options: {}}
azuread:
  tenantId: ${TENANT}
  clientId: ${CLIENT.id}
  clientCredential: provider
  authority: ${entra.origin}
  graphUrl: ${entra.origin}/graph
`
  server = await startServer({ config, settings: { PUBLIC_URL }, log })
  await server.writeCredentials(`- name: provider\n  password: ${CLIENT.secret}\n`)
})
afterAll(async () => {
  await server?.close()
  await entra?.close()
})

async function rolesWith(...groups: typeof memberships): Promise<unknown> {
  memberships = groups
  entra.sits('mallory')
  const page = await createBrowser({ [PUBLIC_URL]: server.url }).open(`${PUBLIC_URL}/api/v2/auth/azuread`)
  expect([page.status, page.text]).toEqual([200, expect.any(String)])
  return (await server.call('GET', '/profile', { token: String(page.body.token) })).body.roles
}

test('who is in the group that a role names by its id has the role, in whatever letters', async () => {
  expect(await rolesWith({ id: ADMINS.toUpperCase(), displayName: 'Admins' })).toEqual(['admin', 'default'])
  expect(await rolesWith({ id: OPERATORS, displayName: null })).toEqual(['operators', 'default'])
})

test.each([
  ['the id of the group of admins', ADMINS],
  ['that id in other letters', ADMINS.toUpperCase()],
  ['that id in braces', `{${ADMINS}}`],
  ['that id as a role may write it', `id:${ADMINS}`],
  ['the other spelling', `ID:${OPERATORS.toUpperCase()}`],
  ['what a name that looks like an id is stored as', `name:${ADMINS}`],
])('a group that somebody named with %s gives no role', async (_what, displayName) => {
  expect(await rolesWith({ id: '99999999-1111-4222-8333-abcdefabcdef', displayName })).toEqual(['default'])
})

test('a role that was got by a name is in the log, with the spelling that nobody can copy', async () => {
  expect(await rolesWith({ id: 'Group-7', displayName: 'Readers' })).toEqual(['readers', 'default'])
  const line = log.map((text) => JSON.parse(text) as Record<string, unknown>).find(({ role }) => role === 'readers')
  expect(line).toMatchObject({ level: 40, group: 'azuread/Readers', by: 'azuread/id:group-7' })
})
