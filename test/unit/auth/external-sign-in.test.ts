import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RoleConfig, parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'
import { createExternalSignIn } from '../../../control-plane/src/auth/sign-in/external-sign-in.js'
import type { Sessions } from '../../../control-plane/src/auth/sessions/sessions.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { openTestStore } from '../../support/test-database.js'

let folder: string
let store: Store
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-external-sign-in-'))
  store = await openTestStore(folder)
})
afterAll(async () => {
  await store.close()
  await rm(folder, { recursive: true })
})

const ROLES = 'roles:\n  - { name: admin, users: [local/admin] }\n'
const PROVIDER = 'clientId: holdfast\n  clientCredential: provider\n'
const OIDC = `oidc:\n  issuer: https://login.example.com\n  ${PROVIDER}`
const AZURE = `azuread:\n  tenantId: 11111111-2222-4333-8444-555555555555\n  ${PROVIDER}`
const LDAP = 'ldap:\n  url: ldaps://directory.example.com\n  searchBase: dc=example\n'
const PUBLIC_URL = 'https://jobs.example.com'

/** Signing in with this config.yaml, what it logs, and a later version of the file. */
function signInWith(providers: string, publicUrl: string | null = null) {
  const warnings: string[] = []
  const log = {
    info: () => undefined,
    warn: (_fields: object, text: string) => void warnings.push(text),
    error: () => undefined,
  }
  let changed: (config: RoleConfig) => void = () => undefined
  const signIn = createExternalSignIn({
    store,
    roles: {
      current: () => Promise.resolve(parseRoleConfig(ROLES + providers)),
      problem: () => null,
      onChange: (listener) => (changed = listener),
    },
    sessions: {} as Sessions,
    credentials: { open: () => Promise.resolve(null) },
    clock: { now: () => 7 },
    log,
    secret: 'the secret of this test, which is long enough',
    publicUrl,
    folder: '/',
  })
  return { signIn, warnings, change: (more: string) => changed(parseRoleConfig(more)) }
}

describe('the start warns that nobody comes back from a provider', () => {
  const warning = expect.stringContaining('nobody can come back from it: set PUBLIC_URL') as unknown
  test.each<[string, string, string | null, unknown[]]>([
    ['with OpenID Connect and no PUBLIC_URL', OIDC, null, [warning]],
    ['with Entra ID and no PUBLIC_URL', AZURE, null, [warning]],
    ['with both and no PUBLIC_URL', OIDC + AZURE, null, [warning]],
    ['not with OpenID Connect and a PUBLIC_URL', OIDC, PUBLIC_URL, []],
    ['not with Entra ID and a PUBLIC_URL', AZURE, PUBLIC_URL, []],
    ['not without providers', '', null, []],
    ['not with a directory, which sends nobody anywhere', LDAP, null, []],
  ])('%s', async (_name, providers, publicUrl, expected) => {
    const { signIn, warnings } = signInWith(providers, publicUrl)
    await signIn.check()
    expect(warnings).toEqual(expected)
  })
})

test('a directory is on when config.yaml has one', async () => {
  expect(await signInWith(LDAP).signIn.directory.isOn()).toBe(true)
  expect(await signInWith(OIDC).signIn.directory.isOn()).toBe(false)
})

test('without a directory, nobody signs in at one', async () => {
  expect(await signInWith(OIDC).signIn.directory.signIn('jo', 'word')).toBeNull()
})

test('advice about the roles is given at the start, and again about a changed file', async () => {
  const roles = (user: string) => `roles:\n  - { name: admin, users: [${user}] }\n`
  const { signIn, warnings, change } = signInWith(OIDC, PUBLIC_URL)
  await signIn.check()
  expect(warnings).toEqual([])
  change(roles('oidc/jo'))
  await expect.poll(() => warnings).toHaveLength(1)
})
