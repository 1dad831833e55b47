import { expect, test } from 'vitest'
import { keptGroups } from '../../../control-plane/src/auth/providers/kept-groups.js'
import { isNamedLoosely, roleGroup, storedName } from '../../../control-plane/src/auth/roles/group-names.js'

const ID = '01234567-89ab-cdef-0123-456789abcdef'

test.each([
  ['local/ops', 'local/ops', false],
  ['local/dn:ops', 'local/dn:ops', false],
  ['ldap/ops', 'ldap/ops', true],
  ['ldap/name:ops', 'ldap/ops', true],
  ['ldap/name:dn:x', 'ldap/name:dn:x', true],
  ['ldap/DN:CN=Ops, DC=x', 'ldap/dn:cn=ops,dc=x', false],
  [`ldap/${ID}`, `ldap/${ID}`, true],
  ['azuread/ops', 'azuread/ops', true],
  [`azuread/${ID.toUpperCase()}`, `azuread/id:${ID}`, false],
  [`azuread/{${ID}}`, `azuread/id:${ID}`, false],
  ['azuread/ID: Other ', 'azuread/id:other', false],
  [`azuread/name:${ID}`, `azuread/name:${ID}`, true],
])(
  'a role that names %j means %j, and somebody else may give its name to another group: %s',
  (text, means, isLoose) => {
    expect([roleGroup(text), isNamedLoosely(text)]).toEqual([means, isLoose])
  },
)

test.each([
  ['ldap', 'dn:x', 'name:dn:x'],
  ['ldap', 'Name:x', 'name:Name:x'],
  ['ldap', ID, ID],
  ['azuread', ID, `name:${ID}`],
  ['azuread', 'id:x', 'name:id:x'],
  ['local', 'id:x', 'id:x'],
])('a name of %s that looks like an id stays a name: %s is stored as %s', (type, name, stored) => {
  expect(storedName(type, name)).toBe(stored)
})

test('the stored groups of a user are sorted, each once, and have a DN only when a role names it', () => {
  const kept = (asked: string[]) =>
    keptGroups(
      'ldap',
      ['b', 'a', 'b', '', null].map((name) => ({ name, dn: `CN=${name}` })),
      {
        roles: [{ name: 'ops', groups: asked }],
      },
    ).groups
  expect([kept([]), kept(['ldap/dn:cn=a'])]).toEqual([
    ['a', 'b'],
    ['a', 'b', 'dn:cn=a'],
  ])
})

test('what is too much is left out and counted, but never a group that a role names', () => {
  const names = Array.from({ length: 20_000 }, (_, n) => ({ name: `g${String(n).padStart(5, '0')}` }))
  const asked = ['z', 'a\nb', 'x'.repeat(999)]
  const memberships = [...names, ...asked.map((name) => ({ name })), { name: 'c\nd' }, { name: 'y'.repeat(999) }]
  const roles = [{ name: 'ops', groups: asked.map((name) => `ldap/${name}`) }]
  const { groups, leftOut } = keptGroups('ldap', memberships, { roles })
  expect(groups).toEqual(expect.arrayContaining(asked))
  expect(leftOut).toBe(memberships.length - groups.length)
  expect(leftOut).toBeGreaterThan(2)
})
