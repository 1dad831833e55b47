import { describe, expect, test } from 'vitest'
import { type KeptGroups, keptGroups } from '../../../control-plane/src/auth/providers/kept-groups.js'
import {
  type Membership,
  askedGroups,
  isNamedLoosely,
  roleGroup,
  storedDn,
  storedId,
  storedName,
} from '../../../control-plane/src/auth/roles/group-names.js'

const ID = '01234567-89ab-cdef-0123-456789abcdef'
const LARGE_ID = ID.toUpperCase()

describe('a group that a role names', () => {
  test.each([
    ['local/ops', 'local/ops', false],
    ['local/dn:ops', 'local/dn:ops', false],
    ['oidc/ops', 'oidc/ops', false],
    ['ops', 'ops', false],
    ['ldap/ops', 'ldap/ops', true],
    ['ldap/name:ops', 'ldap/ops', true],
    ['ldap/name:dn:x', 'ldap/name:dn:x', true],
    ['ldap/dn:CN=Ops, DC=x', 'ldap/dn:cn=ops,dc=x', false],
    ['ldap/DN:cn=ops,dc=x', 'ldap/dn:cn=ops,dc=x', false],
    ['ldap/dn:nothing', 'ldap/dn:', false],
    [`ldap/${ID}`, `ldap/${ID}`, true],
    ['azuread/ops', 'azuread/ops', true],
    [`azuread/${LARGE_ID}`, `azuread/id:${ID}`, false],
    [`azuread/{${ID}}`, `azuread/id:${ID}`, false],
    [`azuread/id: ${LARGE_ID} `, `azuread/id:${ID}`, false],
    ['azuread/ID:Other', 'azuread/id:other', false],
    [`azuread/name:${ID}`, `azuread/name:${ID}`, true],
    ['azuread/dn:x', 'azuread/dn:x', true],
  ])('%j is stored as %j, and somebody else may give its name to another group: %s', (text, stored, isLoose) => {
    expect([roleGroup(text), isNamedLoosely(text)]).toEqual([stored, isLoose])
  })

  test('is asked of the directory by its name or by its distinguished name, each once', () => {
    const groups = ['ldap/ops', 'ldap/name:ops', 'ldap/name:dn:x', 'ldap/dn:cn=A,dc=x', 'local/no', 'azuread/no']
    expect(askedGroups([{ groups }, {}, { groups: ['ldap/ops', 'ldap/dev'] }])).toEqual({
      names: ['ops', 'dn:x', 'dev'],
      dns: ['cn=a,dc=x'],
    })
  })
})

test.each([
  ['ldap', 'ops', 'ops'],
  ['ldap', 'dn:x', 'name:dn:x'],
  ['ldap', 'Name:x', 'name:Name:x'],
  ['ldap', ID, ID],
  ['azuread', ID, `name:${ID}`],
  ['azuread', 'id:x', 'name:id:x'],
  ['azuread', 'dn:x', 'dn:x'],
  ['local', 'id:x', 'id:x'],
])('a name of %s that looks like an id stays a name: %s is stored as %s', (type, name, stored) => {
  expect(storedName(type, name)).toBe(stored)
})

test('ids and distinguished names are stored in one form', () => {
  expect([storedId(`{${LARGE_ID}}`), storedId('Other')]).toEqual([`id:${ID}`, 'id:other'])
  expect([storedDn('CN=A, DC=x'), storedDn('a')]).toEqual(['dn:cn=a,dc=x', null])
})

describe('the groups of a user that are stored', () => {
  const kept = (memberships: readonly Membership[], asked: readonly string[] = []): KeptGroups =>
    keptGroups('ldap', memberships, { roles: [{ name: 'a', groups: [...asked] }, { name: 'b' }] })
  const named = (...names: (string | null)[]) => names.map((name): Membership => ({ name }))

  test('are sorted, each once, without those that have no name', () => {
    expect(kept(named('b', 'a', 'b', '', null, 'dn:c'))).toEqual({ groups: ['a', 'b', 'name:dn:c'], leftOut: 0 })
  })

  test('have names of 256 characters at most, all of which are shown in lists', () => {
    const longest = 'a'.repeat(256)
    expect(kept(named(longest, `${longest}a`, 'a\nb', 'a\u202eb'))).toEqual({ groups: [longest], leftOut: 3 })
    // Roles name these, so they count.
    const asked = [`${longest}a`, 'a\nb']
    expect(
      kept(
        named(...asked),
        asked.map((name) => `ldap/${name}`),
      ),
    ).toEqual({ groups: ['a\nb', `${longest}a`].sort(), leftOut: 0 })
  })

  test('are 5000 at most, and those that roles name are always among them', () => {
    const names = Array.from({ length: 5000 }, (_, n) => `g${String(n).padStart(4, '0')}`)
    expect(kept(named(...names)).leftOut).toBe(0)
    const { groups, leftOut } = kept(named(...names, 'z', 'zz'), ['ldap/zz'])
    expect([groups.length, leftOut, groups.at(-1)]).toEqual([5000, 2, 'zz'])
  })

  test('have their distinguished names only when a role names them', () => {
    const ops = { name: 'ops', dn: 'CN=Ops,DC=x' }
    expect(kept([ops]).groups).toEqual(['ops'])
    expect(kept([ops, { name: null, dn: 'cn=dev,dc=x' }], ['ldap/dn:cn=ops, dc=x'])).toEqual({
      groups: ['dn:cn=ops,dc=x', 'ops'],
      leftOut: 0,
    })
  })

  test('have the ids of Entra ID always', () => {
    expect(keptGroups('azuread', [{ name: 'ops', id: LARGE_ID }], { roles: [] }).groups).toEqual([`id:${ID}`, 'ops'])
  })
})
