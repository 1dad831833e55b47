import { describe, expect, test } from 'vitest'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

const TENANT = '01234567-89ab-cdef-0123-456789abcdef'
const LDAP = { url: 'ldaps://directory', searchBase: 'dc=x' }
const OIDC = { issuer: 'https://id.example.org', clientId: 'holdfast' }
const AZUREAD = { tenantId: TENANT, clientId: 'holdfast' }
const SEARCH = { base: 'ou=groups,dc=x' }

/** YAML with one key on each line, so that a line says which key is meant. */
function linesOf(value: object, indent: string): string[] {
  return Object.entries(value).flatMap(([key, one]) =>
    typeof one === 'object' && one !== null && !Array.isArray(one)
      ? [`${indent}${key}:`, ...linesOf(one as object, `${indent}  `)]
      : [`${indent}${key}: ${JSON.stringify(one)}`],
  )
}
const read = (sections: object) => {
  const text = ['roles: [{ name: admin }]', ...linesOf(sections, '')].join('\n')
  return { text, providers: () => parseRoleConfig(text).providers }
}
/** The line that is wrong, and why. */
function problemOf(sections: object): [string | undefined, string] {
  const { text, providers } = read(sections)
  try {
    providers()
  } catch (error) {
    const { line, reason } = error as { line: number | null; reason: string }
    return [text.split('\n')[(line ?? 0) - 1]?.trim(), reason]
  }
  return [undefined, 'nothing is wrong']
}

describe('a key that is none, such as a typing error, is reported with the keys that there are', () => {
  const ldapKeys =
    'url, tls, bindCredential, searchBase, userFilter, usernameAttribute, mailAttribute, groupsAttribute, groupsBase, nestedGroups, idAttribute, groupSearch'
  test.each([
    [{ ldap: { ...LDAP, bindDn: 'cn=x' } }, 'bindDn: "cn=x"', `ldap.bindDn: there only are ${ldapKeys}`],
    [
      { ldap: { ...LDAP, tls: { starttls: true } } },
      'starttls: true',
      'ldap.tls.starttls: there only are ca, verify, startTls, plain',
    ],
    [
      { ldap: { ...LDAP, groupSearch: { ...SEARCH, scope: 'sub' } } },
      'scope: "sub"',
      'ldap.groupSearch.scope: there only are base, filter, memberAttribute, memberValue, nameAttribute',
    ],
    [
      { oidc: { ...OIDC, clientSecret: 'x' } },
      'clientSecret: "x"',
      'oidc.clientSecret: there only are issuer, formerIssuers, clientId, clientCredential, scopes, usernameClaim, groupsClaim, groupFilter',
    ],
    [
      { azuread: { ...AZUREAD, clientSecret: 'x' } },
      'clientSecret: "x"',
      'azuread.clientSecret: there only are tenantId, clientId, clientCredential, authority, graphUrl, groupFilter',
    ],
  ])('%j', (sections, line, reason) => {
    expect(problemOf(sections)).toEqual([line, reason])
  })
})

describe('a mistake in a section is reported with its line', () => {
  test.each([
    [{ ldap: { ...LDAP, userFilter: '(uid=' } }, 'userFilter: "(uid="', 'ldap.userFilter is no filter of LDAP'],
    [
      { ldap: { ...LDAP, groupSearch: { ...SEARCH, filter: '(cn=' } } },
      'filter: "(cn="',
      'ldap.groupSearch.filter is no filter of LDAP',
    ],
    [
      { ldap: { ...LDAP, nestedGroups: 'walk', groupSearch: { ...SEARCH, memberValue: 'username' } } },
      'nestedGroups: "walk"',
      'ldap.nestedGroups takes groups that name their members by DN',
    ],
    [
      { ldap: { ...LDAP, url: 'ldaps://:secret@directory' } },
      'url: "ldaps://:secret@directory"',
      'ldap.url must not hold a name or a password',
    ],
    [{ oidc: { ...OIDC, groupFilter: '(' } }, 'groupFilter: "("', 'oidc.groupFilter is not a regular expression'],
    [{ oidc: { ...OIDC, issuer: 'id' } }, 'issuer: "id"', 'oidc.issuer must be an address such as https://host or'],
    [
      { oidc: { ...OIDC, issuer: 'https://jo@id' } },
      'issuer: "https://jo@id"',
      'oidc.issuer must not hold a name or a password',
    ],
    [{ azuread: { ...AZUREAD, groupFilter: '(' } }, 'groupFilter: "("', 'azuread.groupFilter is not a regular'],
    [
      { azuread: { ...AZUREAD, authority: 'http://login' } },
      'authority: "http://login"',
      'azuread.authority must begin with https://',
    ],
    [
      { azuread: { ...AZUREAD, graphUrl: 'http://graph' } },
      'graphUrl: "http://graph"',
      'azuread.graphUrl must begin with https://',
    ],
    [
      { ldap: { ...LDAP, url: 'ldap://127.0.0.1.example.org' } },
      'url: "ldap://127.0.0.1.example.org"',
      'ldap.url: passwords would cross the network in clear',
    ],
  ])('%j', (sections, line, reason) => {
    const [wrong, why] = problemOf(sections)
    expect([wrong, why.slice(0, reason.length)]).toEqual([line, reason])
  })

  test.each([
    { ldap: { ...LDAP, nestedGroups: 'other' } },
    { ldap: { ...LDAP, idAttribute: 'a b' } },
    { ldap: { ...LDAP, groupSearch: { ...SEARCH, memberValue: 'cn' } } },
    { azuread: { ...AZUREAD, tenantId: 'common' } },
    { oidc: { ...OIDC, scopes: [] } },
  ])('a value that is none of those there are: %j', (sections) => {
    expect(problemOf(sections)[1]).not.toBe('nothing is wrong')
  })
})

describe('a directory', () => {
  const settingsOf = (more: object) => read({ ldap: { ...LDAP, ...more } }).providers()?.ldap

  test('has all that its section says', () => {
    const tls = { ca: '/etc/ca.pem', verify: false }
    const names = { usernameAttribute: 'cn', mailAttribute: 'm', groupsAttribute: 'g', idAttribute: 'nsUniqueId' }
    const others = { bindCredential: 'binder', userFilter: '(a=b)', groupsBase: 'OU=Groups, DC=x' }
    expect(settingsOf({ tls, ...names, ...others, nestedGroups: 'rule' })).toMatchObject({
      url: 'ldaps://directory',
      startTls: false,
      verify: false,
      ca: '/etc/ca.pem',
      usernameAttribute: 'cn',
      mailAttribute: 'm',
      groupsAttribute: 'g',
      idAttributes: ['nsUniqueId'],
      bindCredential: 'binder',
      userFilter: '(a=b)',
      groupsBase: 'ou=groups,dc=x',
      nested: { how: 'rule', base: 'OU=Groups, DC=x' },
      groupSearch: null,
    })
    expect(settingsOf({ idAttribute: 'none' })?.idAttributes).toEqual([])
  })

  test('whose groups are searched has defaults for that, and then no attribute of the user counts', () => {
    expect(settingsOf({ groupSearch: SEARCH, nestedGroups: 'walk' })).toMatchObject({
      groupsAttribute: null,
      nested: { how: 'walk', base: 'ou=groups,dc=x' },
      groupSearch: { ...SEARCH, filter: null, memberAttribute: 'member', memberValue: 'dn', nameAttribute: 'cn' },
    })
    const whole = { ...SEARCH, filter: '(a=b)', memberAttribute: 'uniqueMember', memberValue: 'dn', nameAttribute: 'n' }
    expect(settingsOf({ groupSearch: whole, groupsAttribute: 'memberOf', nestedGroups: 'walk' })).toMatchObject({
      groupsAttribute: 'memberOf',
      groupSearch: whole,
    })
    expect(settingsOf({ groupSearch: { ...SEARCH, memberValue: 'username' } })?.groupSearch?.memberValue).toBe(
      'username',
    )
  })
})

test('a provider of OpenID Connect has all that its section says', () => {
  const given = { ...OIDC, clientCredential: 'own', formerIssuers: ['http://old'], groupFilter: '^x' }
  const claims = { usernameClaim: 'email', groupsClaim: 'roles', scopes: ['openid', 'x'] }
  expect(read({ oidc: { ...given, ...claims } }).providers()?.oidc).toEqual({
    kind: 'oidc',
    ...given,
    scopes: ['openid', 'x'],
    usernameClaim: 'email',
    groups: { claim: 'roles' },
  })
})

test('Entra ID asks for the groups of the user, and of no one else, at the addresses that are named', () => {
  expect(read({ azuread: AZUREAD }).providers()?.azuread).toEqual({
    kind: 'azuread',
    issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
    formerIssuers: [],
    clientId: 'holdfast',
    clientCredential: null,
    scopes: [
      'openid',
      'profile',
      'email',
      'https://graph.microsoft.com/User.Read',
      'https://graph.microsoft.com/GroupMember.Read.All',
    ],
    usernameClaim: 'preferred_username',
    groups: { graphUrl: 'https://graph.microsoft.com' },
    groupFilter: null,
  })
  const own = { authority: 'https://login.example//', graphUrl: 'https://graph.example/', groupFilter: 'a' }
  expect(read({ azuread: { ...AZUREAD, ...own, clientCredential: 'c' } }).providers()?.azuread).toMatchObject({
    issuer: `https://login.example/${TENANT}/v2.0`,
    groups: { graphUrl: 'https://graph.example' },
    clientCredential: 'c',
    groupFilter: 'a',
  })
})

describe('roles', () => {
  const problemIn = (roles: string) => {
    try {
      parseRoleConfig(`roles:\n  - name: admin\n${roles}`)
    } catch (error) {
      const { line, reason } = error as { line: number; reason: string }
      return [line, reason]
    }
    return null
  }

  test.each([
    ['  - name: a\n  - name: a\n', [4, 'there are two roles named a']],
    [
      '  - name: a\n    groups:\n      - ldap/ops\n      - ldap/dn:ops\n',
      [6, 'ldap/dn:ops names no distinguished name'],
    ],
    ['  - name: a\n    groups:\n      - LDAP/DN:cn=ops\n', null],
    [
      '  - name: a\n    credentials:\n      - good\n      - "("\n',
      [6, '( is not a regular expression for names of credentials'],
    ],
    ['  - name: a\n    credentials: ["a{2}", "x|y"]\n', null],
  ])('%j is checked', (roles, problem) => {
    expect(problemIn(roles)).toEqual(problem)
  })

  test('without admin are a mistake', () => {
    expect(() => parseRoleConfig('roles:\n  - name: a\n')).toThrow('the role admin is missing')
  })
})
