import { describe, expect, test } from 'vitest'
import type { Role } from '../../../control-plane/src/auth/roles/role-config.js'
import { grantOf } from '../../../control-plane/src/auth/roles/roles.js'
import { mayUseForm } from '../../../control-plane/src/forms/visibility.js'
import { covers } from '../../interface/covers.js'

const jo = { type: 'local' as const, username: 'jo', groups: ['local/ops', 'local/dev'], isLaterOfName: false }
const grant = (...roles: Role[]) => grantOf(jo, { roles })
const optionsOf = (...roles: Role[]) => grant(...roles).options
/** A role that jo has. */
const own = (more: Partial<Role>): Role => ({ name: 'own', groups: ['local/ops'], ...more })

describe('membership', () => {
  test.each<[string[], Partial<Role>]>([
    [['own', 'default'], { groups: ['local/ops'] }],
    [['own', 'default'], { users: ['local/jo'] }],
    [['own', 'default'], { users: ['local/Jo'] }],
    [['default'], { groups: ['ldap/ops', 'ops', 'local/OPS'] }],
    [['default'], { users: ['jo', 'ldap/jo'] }],
    [['default'], { name: 'public', groups: ['local/ops'] }],
    [['default'], { name: 'default', groups: ['ldap/none'] }],
  ])('jo has the roles %j with the role %j', (roles, role) => {
    covers('role.membership')
    expect(grant({ name: 'own', ...role }).roles).toEqual(roles)
  })

  test('of the role admin gives every option, whatever roles say', () => {
    const limits = { runners: ['one'], credentials: ['x'], scopes: ['read' as const] }
    const { isAdmin, options, ...granted } = grant(
      own({ name: 'admin', options: { showAllJobLogs: false }, ...limits }),
      own({ options: { allowVerboseMode: false } }),
    )
    expect([isAdmin, ...new Set(Object.values(options))]).toEqual([true, true])
    expect(granted).toMatchObject({ allowedRunners: null, allowedCredentials: null, tokenScopes: null })
  })
})

describe('options', () => {
  test('without a role let a user start jobs verbosely, and nothing else', () => {
    covers('role.options')
    const { allowVerboseMode, ...others } = optionsOf()
    expect([allowVerboseMode, ...new Set(Object.values(others))]).toEqual([true, false])
  })

  test.each([
    ['one that says yes and one that is silent', [{ showAllJobLogs: true }, {}], true],
    ['two that say yes', [{ showAllJobLogs: true }, { showAllJobLogs: true }], true],
    ['yes and no', [{ showAllJobLogs: true }, { showAllJobLogs: false }], false],
    ['no and yes', [{ showAllJobLogs: false }, { showAllJobLogs: true }], false],
    ['silence', [{}, {}], false],
  ])('of several roles: %s', (_what, options, expected) => {
    covers('role.options')
    const roles = options.map((one, index) => own({ name: `r${index}`, options: one as Record<string, boolean> }))
    expect(optionsOf(...roles).showAllJobLogs).toBe(expected)
  })

  test('the role of everyone only sets options that no other role sets, and default has priority over public', () => {
    covers('role.options')
    const everyone = { name: 'default', options: { showAllJobLogs: true, allowVerboseMode: false } }
    const old = { name: 'public', options: { showAllJobLogs: false, allowApiTokens: true } }
    const options = { showAllJobLogs: true, allowVerboseMode: false, allowApiTokens: true }
    expect(optionsOf(old, everyone)).toMatchObject(options)
    expect(optionsOf(everyone, own({ options: { showAllJobLogs: false } }))).toMatchObject({ showAllJobLogs: false })
  })

  test('extendedTokenExpiration is the older name of allowApiTokens', () => {
    expect(optionsOf(own({ options: { extendedTokenExpiration: true } })).allowApiTokens).toBe(true)
    const both = { extendedTokenExpiration: true, allowApiTokens: false }
    expect(optionsOf(own({ options: both })).allowApiTokens).toBe(false)
  })

  test('of pages: all roles have to say yes, and one option has two spellings', () => {
    const pagesOf = (...roles: Role[]) => grant(...roles).pageOptions
    const everyone: Role = { name: 'default', options: { showLogs: true } }
    expect(pagesOf(everyone, own({ options: { showJobs: false } }))).toMatchObject({ showLogs: true, showJobs: false })
    expect(
      pagesOf(own({ options: { showJobs: true } }), own({ name: 'b', options: { showJobs: false } })),
    ).toMatchObject({ showJobs: false })
    for (const name of ['showExtravars', 'showExtraVars'])
      expect(pagesOf(own({ options: { [name]: false } }))).toMatchObject({ showExtravars: false, showExtraVars: false })
  })
})

test.each(['runners', 'credentials', 'scopes'] as const)(
  'a user has all %s until a role has a list; then all lists count together',
  (kind) => {
    const listOf = (...roles: Role[]) => {
      const { allowedRunners, allowedCredentials, tokenScopes } = grant(...roles)
      return { runners: allowedRunners, credentials: allowedCredentials, scopes: tokenScopes }[kind]
    }
    expect(listOf(own({}))).toBeNull()
    expect(listOf({ name: 'not of jo', [kind]: ['read'] })).toBeNull()
    expect(listOf(own({ [kind]: [] }))).toEqual([])
    const lists = [own({ [kind]: ['read'] }), own({ name: 'b' }), { name: 'default', [kind]: ['launch', 'read'] }]
    expect([...(listOf(...lists) ?? [])].sort()).toEqual(['launch', 'read'])
  },
)

test('a form is allowed for its roles, for everyone by both names, and for admins', () => {
  const may = (...roles: string[]) => mayUseForm({ isAdmin: false, roles: ['ops', 'default'] }, { roles })
  expect([may('ops'), may('default'), may('public'), may('x', 'ops')]).toEqual([true, true, true, true])
  expect([may(), may('admin'), may('Ops')]).toEqual([false, false, false])
  expect(mayUseForm({ isAdmin: true, roles: ['admin', 'default'] }, { roles: [] })).toBe(true)
})
