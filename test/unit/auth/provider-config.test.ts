import { describe, expect, test } from 'vitest'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

const ROLES = 'roles:\n  - { name: admin, groups: [ldap/admins] }\n'
const LDAP = 'ldap:\n  searchBase: dc=example,dc=org\n'
const OIDC = 'oidc:\n  issuer: https://id.example.org\n  clientId: holdfast\n'
const TENANT = '01234567-89ab-cdef-0123-456789abcdef'

const providersOf = (section: string) => parseRoleConfig(`${ROLES}${section}`).providers
/** The line and the reason of what is wrong. */
function problemOf(section: string): [number | null, string] {
  try {
    parseRoleConfig(`${ROLES}${section}`)
  } catch (error) {
    const { line, reason } = error as { line: number | null; reason: string }
    return [line, reason]
  }
  return [null, 'nothing is wrong']
}

describe('directories and providers', () => {
  test('settings that config.yaml leaves out have their defaults', () => {
    expect(providersOf(`${LDAP}  url: ldaps://directory.example.org\n`)?.ldap).toEqual({
      url: 'ldaps://directory.example.org',
      startTls: false,
      verify: true,
      ca: null,
      bindCredential: null,
      searchBase: 'dc=example,dc=org',
      userFilter: null,
      usernameAttribute: 'uid',
      mailAttribute: 'mail',
      groupsAttribute: 'memberOf',
      groupsBase: null,
      nested: null,
      idAttributes: ['entryUUID', 'objectGUID'],
      groupSearch: null,
    })
    expect(providersOf(OIDC)?.oidc).toEqual({
      kind: 'oidc',
      issuer: 'https://id.example.org',
      formerIssuers: [],
      clientId: 'holdfast',
      clientCredential: null,
      scopes: ['openid', 'profile', 'email'],
      usernameClaim: 'preferred_username',
      groups: { claim: 'groups' },
      groupFilter: null,
    })
  })

  test('the scope openid is always requested', () => {
    expect(providersOf(`${OIDC}  scopes: [groups]\n`)?.oidc?.scopes).toEqual(['openid', 'groups'])
    expect(providersOf(`${OIDC}  scopes: [email, openid]\n`)?.oidc?.scopes).toEqual(['email', 'openid'])
  })

  test('a former issuer is only compared, so it may be any web address', () => {
    const former = (issuer: string) => `${OIDC}  formerIssuers:\n    - https://a.example\n    - ${issuer}\n`
    expect(providersOf(former('http://old.example.org'))?.oidc?.formerIssuers).toHaveLength(2)
    expect(problemOf(former('ldap://old.example.org'))).toEqual([
      8,
      'oidc.formerIssuers.1 must be an address such as https://host or http://host',
    ])
  })

  test('an address of this machine needs no TLS', () => {
    for (const host of ['localhost', '127.0.0.1:8080', '127.1.2.3', '[::1]']) {
      expect(providersOf(`oidc: { issuer: 'http://${host}', clientId: x }\n`)).toHaveProperty('oidc')
    }
    for (const host of ['example.org', '126.0.0.1', '127.example.org', '[::2]']) {
      expect(problemOf(`oidc: { issuer: 'http://${host}', clientId: x }\n`)[1]).toBe(
        'oidc.issuer must begin with https://',
      )
    }
  })

  test.each([
    ['url: https://directory', 5, 'ldap.url must be an address such as ldap://host or ldaps://host'],
    ['url: ldaps://jo:secret@directory', 5, 'ldap.url must not hold a name or a password: use a stored credential'],
    [
      'url: ldap://directory',
      5,
      'ldap.url: passwords would cross the network in clear; use ldaps://, or tls.startTls, or say tls.plain: true',
    ],
    [
      'url: ldaps://directory\n  tls:\n    startTls: true',
      7,
      'ldap.tls.startTls is for ldap://; ldaps:// begins with TLS',
    ],
    ['url: ldaps://directory\n  groupsBase: "nothing"', 6, 'ldap.groupsBase must be a distinguished name'],
    ['url: ldaps://directory\n  nestedGroups: walk', 6, 'ldap.nestedGroups takes ldap.groupsBase or ldap.groupSearch'],
  ])('a mistake is reported with its line: %j', (text, line, reason) => {
    expect(problemOf(`${LDAP}  ${text}\n`)).toEqual([line, reason])
  })

  test('passwords may be sent without TLS to this machine, with startTls, and if the file allows it', () => {
    for (const text of [
      'url: ldap://localhost',
      'url: ldap://directory\n  tls: { startTls: true }',
      'url: ldap://directory\n  tls: { plain: true }',
    ]) {
      expect(problemOf(`${LDAP}  ${text}\n`)).toEqual([null, 'nothing is wrong'])
    }
  })

  test('Entra ID has its own addresses, unless others are named', () => {
    expect(providersOf(`azuread: { tenantId: ${TENANT}, clientId: x }\n`)?.azuread).toMatchObject({
      kind: 'azuread',
      issuer: `https://login.microsoftonline.com/${TENANT}/v2.0`,
      groups: { graphUrl: 'https://graph.microsoft.com' },
    })
  })
})

describe('categories', () => {
  test('have an icon, further categories, and at most eleven levels', () => {
    const entry = { name: 'a', items: [{ name: 'b', icon: 'x' }, { icon: 'no name' }, 'text'] }
    expect(parseRoleConfig(`${ROLES}categories: ${JSON.stringify([entry])}\n`).categories).toEqual([
      { name: 'a', icon: 'bars', items: [{ name: 'b', icon: 'x' }] },
    ])
    const nested = (levels: number): object => ({
      name: `${levels}`,
      ...(levels > 1 ? { items: [nested(levels - 1)] } : {}),
    })
    const { categories } = parseRoleConfig(`${ROLES}categories: ${JSON.stringify([nested(20)])}\n`)
    expect(JSON.stringify(categories).match(/"name"/g)).toHaveLength(11)
  })
})
