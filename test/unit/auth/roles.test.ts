import { describe, expect, test } from 'vitest'
import { type Role, parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'
import { grantOf } from '../../../control-plane/src/auth/roles/roles.js'
import { mayUseForm } from '../../../control-plane/src/forms/visibility.js'
import { covers } from '../../interface/covers.js'

const jo = { type: 'local' as const, username: 'jo', groups: ['local/ops', 'local/dev'], isLaterOfName: false }
const grant = (...roles: Role[]) => grantOf(jo, { roles })
const optionsOf = (...roles: Role[]) => grant(...roles).options

describe('membership', () => {
  test('is by group, exactly as written, or by user, in upper or lower case', () => {
    covers('role.membership')
    const roles: Role[] = [
      { name: 'a', groups: ['local/ops'] },
      { name: 'b', users: ['local/jo'] },
      { name: 'c', groups: ['ldap/ops', 'ops', 'local/OPS'] },
      { name: 'd', users: ['jo', 'ldap/jo', 'local/Jo'] },
      { name: 'e' },
    ]
    expect(grant(...roles).roles).toEqual(['a', 'b', 'd', 'default'])
  })

  test('of the role admin gives every option, whatever roles say', () => {
    const { isAdmin, options, allowedRunners } = grant(
      { name: 'admin', groups: ['local/ops'], options: { showAllJobLogs: false }, runners: ['one'] },
      { name: 'x', groups: ['local/ops'], options: { allowVerboseMode: false } },
    )
    expect(isAdmin).toBe(true)
    expect(new Set(Object.values(options))).toEqual(new Set([true]))
    expect(allowedRunners).toBeNull()
  })

  test('everyone has default; public is its old name and not a separate role', () => {
    covers('role.membership')
    expect(grant({ name: 'public', groups: ['local/ops'] }).roles).toEqual(['default'])
    expect(grant({ name: 'default', groups: ['ldap/none'] }).roles).toEqual(['default'])
    expect(grantOf({ ...jo, groups: [] }, { roles: [] }).roles).toEqual(['default'])
  })
})

describe('options', () => {
  test('have built-in defaults', () => {
    covers('role.options')
    expect(optionsOf()).toEqual({
      allowVerboseMode: true,
      allowJobRelaunch: false,
      showAllJobLogs: false,
      manageAllJobs: false,
      allowApiTokens: false,
    })
  })

  test('a role with only extendedTokenExpiration, the older name, has allowApiTokens', () => {
    const role = (options: Record<string, boolean>): Role => ({ name: 'x', groups: ['local/ops'], options })
    expect(optionsOf(role({ extendedTokenExpiration: true })).allowApiTokens).toBe(true)
    expect(optionsOf(role({ extendedTokenExpiration: true, allowApiTokens: false })).allowApiTokens).toBe(false)
    expect(optionsOf({ name: 'default', options: { extendedTokenExpiration: true } }).allowApiTokens).toBe(true)
    expect(optionsOf(role({ extendedTokenExpiration: true })).allowJobRelaunch).toBe(false)
  })

  test.each([
    ['one that says yes', [{ showAllJobLogs: true }], true],
    ['one that says yes and one that is silent', [{ showAllJobLogs: true }, {}], true],
    ['two that say yes', [{ showAllJobLogs: true }, { showAllJobLogs: true }], true],
    ['yes and no', [{ showAllJobLogs: true }, { showAllJobLogs: false }], false],
    ['no and yes', [{ showAllJobLogs: false }, { showAllJobLogs: true }], false],
    ['silence', [{}, {}], false],
  ])('%s', (_what, options, expected) => {
    covers('role.options')
    const roles = options.map((one, index) => ({
      name: `r${index}`,
      groups: ['local/ops'],
      options: one as Record<string, boolean>,
    }))
    expect(optionsOf(...roles).showAllJobLogs).toBe(expected)
  })

  test('the role of everyone only sets options that no other role sets', () => {
    covers('role.options')
    const everyone = { name: 'default', options: { showAllJobLogs: true, allowVerboseMode: false } }
    const own = { name: 'ops', groups: ['local/ops'], options: { showAllJobLogs: false } }
    expect(optionsOf(everyone, own)).toMatchObject({ showAllJobLogs: false, allowVerboseMode: false })
    expect(optionsOf(everyone)).toMatchObject({ showAllJobLogs: true, allowVerboseMode: false })
  })

  test('default has priority over public', () => {
    const roles: Role[] = [
      { name: 'public', options: { manageAllJobs: true, allowApiTokens: true } },
      { name: 'default', options: { manageAllJobs: false } },
    ]
    expect(optionsOf(...roles)).toMatchObject({ manageAllJobs: false, allowApiTokens: true })
  })
})

describe('runners', () => {
  const role = (name: string, runners?: string[]): Role => ({
    name,
    groups: ['local/ops'],
    ...(runners ? { runners } : {}),
  })

  test('a user is not limited until a role has a list, then all lists count together', () => {
    expect(grant(role('a'), role('b')).allowedRunners).toBeNull()
    expect(grant(role('a', ['one']), role('b'), role('c', ['two', 'one'])).allowedRunners).toEqual(['one', 'two'])
    expect(grant(role('a', [])).allowedRunners).toEqual([])
    expect(grant({ name: 'default', runners: ['one'] }).allowedRunners).toEqual(['one'])
    expect(grant({ name: 'other', groups: ['local/none'], runners: ['one'] }).allowedRunners).toBeNull()
  })
})

test('a form is allowed for its roles, for everyone by both names, and for admins', () => {
  const caller = { isAdmin: false, roles: ['ops', 'default'] }
  const may = (...roles: string[]) => mayUseForm(caller, { roles })
  expect([may('ops'), may('default'), may('public'), may('x', 'ops')]).toEqual([true, true, true, true])
  expect([may(), may('admin'), may('Ops')]).toEqual([false, false, false])
  expect(mayUseForm({ isAdmin: true, roles: ['admin', 'default'] }, { roles: [] })).toBe(true)
})

describe('credentials', () => {
  const role = (name: string, credentials?: string[]): Role => ({
    name,
    groups: ['local/ops'],
    ...(credentials ? { credentials } : {}),
  })

  test('are not limited until a role of the user lists some; then the lists count together', () => {
    expect(grant(role('a'), role('b')).allowedCredentials).toBeNull()
    expect(grant(role('a', ['db.*']), role('b'), role('c', ['x', 'db.*'])).allowedCredentials).toEqual(['db.*', 'x'])
    expect(grant(role('a', [])).allowedCredentials).toEqual([])
    expect(grant(role('admin', ['x'])).allowedCredentials).toBeNull()
  })

  test('that are not regular expressions are reported as a mistake with its line', () => {
    const text = 'roles:\n  - {name: admin}\n  - name: ops\n    credentials:\n      - good\n      - "[bad"\n'
    expect(() => parseRoleConfig(text)).toThrow('line 6: [bad is not a regular expression')
  })
})
