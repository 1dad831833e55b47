import { describe, expect, test } from 'vitest'
import { type Role, parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'
import { isProviderThere, requireProvider } from '../../../control-plane/src/auth/roles/provider-presence.js'
import {
  type RoleSubject,
  grantOf,
  isEveryone,
  roleSubjectOf,
  userKey,
} from '../../../control-plane/src/auth/roles/roles.js'

const TENANT = '01234567-89ab-cdef-0123-456789abcdef'
const configOf = (...sections: string[]) => parseRoleConfig(['roles: [{ name: admin }]', ...sections].join('\n'))
const LDAP = 'ldap: { url: "ldaps://d", searchBase: dc=x }'
const OIDC = 'oidc: { issuer: "https://id/", formerIssuers: ["https://old"], clientId: x }'
const ENTRA = `azuread: { tenantId: ${TENANT}, clientId: x }`

describe('an account whose directory or provider config.yaml does not have any more cannot sign in', () => {
  test.each([
    ['local', null, true, true],
    ['ldap', null, true, false],
    ['ldap', 'entryUUID 1', true, false],
    ['oidc', 'https://id 1', true, false],
    ['oidc', 'https://id/ 1', true, false],
    ['oidc', 'https://old/ 1', true, false],
    ['oidc', 'https://other 1', false, false],
    ['oidc', null, false, false],
    ['azuread', `https://login.microsoftonline.com/${TENANT}/v2.0 1`, true, false],
    ['azuread', 'https://id 1', false, false],
  ] as const)('%s with the id %j: %s, and %s with an empty file', (type, subject, isThere, isThereAlone) => {
    const account = { type, subject }
    const all = configOf(LDAP, OIDC, ENTRA)
    expect([isProviderThere(account, all), isProviderThere(account, configOf())]).toEqual([isThere, isThereAlone])
    const required = () => requireProvider(account, all)
    if (isThere) expect(required).not.toThrow()
    else expect(required).toThrow('cannot sign in here any more')
  })
})

const jo: RoleSubject = { type: 'local', username: 'Jo', groups: ['local/ops'], isLaterOfName: false }
const grant = (roles: Role[], more: Partial<RoleSubject> = {}) => grantOf({ ...jo, ...more }, { roles })

describe('a role that names a user', () => {
  const roles: Role[] = [
    { name: 'by-name', users: ['local/JO'] },
    { name: 'by-group', groups: ['local/ops'], users: ['local/jo'] },
    { name: 'other', users: ['ldap/jo'] },
    { name: 'default', users: ['local/jo'] },
  ]

  test('means the account, and not a later one of the same name', () => {
    expect(grant(roles)).toMatchObject({ roles: ['by-name', 'by-group', 'default'], rolesWithheld: [] })
    expect(grant(roles, { isLaterOfName: true })).toMatchObject({
      roles: ['by-group', 'default'],
      rolesWithheld: ['by-name'],
    })
  })

  test('is compared with the stored account', () => {
    const account = { id: 1, username: 'jo', type: 'ldap', groups: ['ops'], nameHadBy: 0 } as never
    expect(roleSubjectOf(account)).toEqual({ type: 'ldap', username: 'jo', groups: ['ldap/ops'], isLaterOfName: true })
    expect(userKey('ldap/A/B')).toBe('ldap/a/b')
    expect(['default', 'public', 'admin', ''].map(isEveryone)).toEqual([true, true, false, false])
  })
})

describe('what pages show', () => {
  const ops = (options: Record<string, boolean>): Role => ({ name: 'ops', groups: ['local/ops'], options })
  const ALL = ['showJobs', 'showExtravars', 'showExtraVars', 'showArtifacts', 'showDebugButtons']
  const ADMINS = ['showDesigner', 'showSettings', 'showLogs']
  const NEVER = ['allowBackupOps', 'allowScheduledJobs', 'allowStoredJobs', 'allowPlannedJobs', 'allowChat', 'allowMcp']
  const shownOf = ({ pageOptions }: { pageOptions: Readonly<Record<string, boolean>> }) =>
    Object.keys(pageOptions).filter((name) => pageOptions[name])

  test('is some for everybody, more for admins, and never what this service does not have', () => {
    expect(shownOf(grant([])).sort()).toEqual([...ALL].sort())
    expect(shownOf(grant([{ name: 'admin', groups: ['local/ops'] }])).sort()).toEqual([...ALL, ...ADMINS].sort())
    const { pageOptions } = grant([ops(Object.fromEntries(NEVER.map((name) => [name, true])))])
    expect(Object.keys(pageOptions).sort()).toEqual([...ALL, ...ADMINS, ...NEVER].sort())
    for (const name of NEVER) expect(pageOptions[name], name).toBe(false)
  })

  test('is what roles say: all of them have to say yes, and the role of everyone only fills', () => {
    const everyone: Role = { name: 'default', options: { showLogs: true, showJobs: false } }
    expect(grant([everyone]).pageOptions).toMatchObject({ showLogs: true, showJobs: false })
    expect(grant([everyone, ops({ showLogs: false, showJobs: true })]).pageOptions).toMatchObject({
      showLogs: false,
      showJobs: true,
    })
    const second: Role = { name: 'second', groups: ['local/ops'], options: { showJobs: false } }
    expect(grant([ops({ showJobs: true }), second]).pageOptions.showJobs).toBe(false)
    expect(grant([{ name: 'admin', groups: ['local/ops'], options: { showLogs: false } }]).pageOptions.showLogs).toBe(
      false,
    )
  })

  test('has one option in two spellings', () => {
    for (const name of ['showExtravars', 'showExtraVars']) {
      expect(grant([ops({ [name]: false })]).pageOptions, name).toMatchObject({
        showExtravars: false,
        showExtraVars: false,
      })
    }
    expect(grant([ops({ showArtifacts: false })]).pageOptions).toMatchObject({
      showExtravars: true,
      showExtraVars: true,
    })
  })
})

test('lists of scopes of all roles count together, and an admin is not limited', () => {
  const lists: Role[] = [
    { name: 'a', groups: ['local/ops'], scopes: ['read'] },
    { name: 'default', scopes: ['read', 'launch'] },
  ]
  expect(grant(lists).tokenScopes).toEqual(['read', 'launch'])
  expect(grant([]).tokenScopes).toBeNull()
  const admin: Role = { name: 'admin', groups: ['local/ops'], scopes: ['read'], credentials: [], runners: [] }
  expect(grant([admin])).toMatchObject({ tokenScopes: null, allowedCredentials: null, allowedRunners: null })
})
