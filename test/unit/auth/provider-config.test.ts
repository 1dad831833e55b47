import { expect, test } from 'vitest'
import { isProviderThere } from '../../../control-plane/src/auth/roles/provider-presence.js'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

const TENANT = '01234567-89ab-cdef-0123-456789abcdef'
const ROLES = 'roles: [{ name: admin }]\n'
const SECTIONS = {
  ldap: 'ldap:\n  url: ldaps://d\n  searchBase: dc=x\n',
  oidc: 'oidc:\n  issuer: https://id/\n  clientId: x\n',
  azuread: `azuread:\n  tenantId: ${TENANT}\n  clientId: x\n`,
}

/** The words of the mistake, or null. It has to be reported in the last line. */
function problemOf(text: string): string | null {
  try {
    parseRoleConfig(text)
    return null
  } catch (error) {
    const { line, reason } = error as { line: number; reason: string }
    expect(line).toBe(text.trimEnd().split('\n').length)
    return reason
  }
}

test.each([
  ['ldap', 'bindDn: cn=x', 'there only are'],
  ['ldap', 'tls: { starttls: true }', 'ldap.tls.starttls'],
  ['ldap', 'tls: { startTls: true }', 'is for ldap://'],
  ['ldap', 'userFilter: (uid=', 'no filter of LDAP'],
  ['ldap', 'groupsBase: nothing', 'must be a distinguished name'],
  ['ldap', 'nestedGroups: walk', 'takes ldap.groupsBase'],
  ['ldap', 'nestedGroups: other', 'ldap.nestedGroups'],
  ['ldap', 'idAttribute: a b', 'ldap.idAttribute'],
  ['oidc', 'clientSecret: x', 'there only are'],
  ['oidc', 'groupFilter: (', 'not a regular expression'],
  ['oidc', 'formerIssuers: [ldap://old]', 'must be an address'],
  ['oidc', 'formerIssuers: [http://old]', null],
  ['azuread', 'groupFilter: (', 'not a regular expression'],
  ['azuread', 'authority: http://login', 'must begin with https://'],
  ['azuread', 'graphUrl: http://graph', 'must begin with https://'],
] as const)('a mistake in the section %s is reported with its line: %s', (section, line, words) => {
  const problem = problemOf(`${ROLES}${SECTIONS[section]}  ${line}\n`)
  if (words === null) expect(problem).toBeNull()
  else expect(problem).toContain(words)
})

test.each([
  ['ldaps://directory', true],
  ['ldap://localhost', true],
  ['ldap://127.1.2.3:389', true],
  ['ldap://[::1]', true],
  ['ldap://directory', false],
  ['ldap://127.0.0.1.example.org', false],
  ['ldap://126.0.0.1', false],
  ['https://directory', false],
  ['ldaps://jo:secret@directory', false],
])('passwords are safe at the address %s: %s', (url, isSafe) => {
  expect(problemOf(`${ROLES}ldap:\n  searchBase: dc=x\n  url: ${url}\n`) === null).toBe(isSafe)
  const issuer = url.replace('ldap', 'http')
  if (!url.includes('https'))
    expect(problemOf(`${ROLES}oidc:\n  clientId: x\n  issuer: ${issuer}\n`) === null).toBe(isSafe)
})

test.each([
  ['  - name: a\n  - name: a\n', 'two roles named a'],
  ['  - name: a\n    groups:\n      - ldap/dn:ops\n', 'names no distinguished name'],
  ['  - name: a\n    groups:\n      - LDAP/DN:cn=ops\n', null],
  ['  - name: a\n    credentials:\n      - good\n      - "[bad"\n', 'not a regular expression'],
  ['  - name: a\n    credentials: ["a{2}", "x|y"]\n', null],
])('the roles %j are checked', (roles, words) => {
  const problem = problemOf(`roles:\n  - name: admin\n${roles}`)
  if (words === null) expect(problem).toBeNull()
  else expect(problem).toContain(words)
})

test.each([
  ['local', null, true, true],
  ['ldap', 'entryUUID 1', true, false],
  ['oidc', 'https://id 1', true, false],
  ['oidc', 'https://old/ 1', true, false],
  ['oidc', 'https://other 1', false, false],
  ['oidc', null, false, false],
  ['azuread', `https://login.microsoftonline.com/${TENANT}/v2.0 1`, true, false],
  ['azuread', 'https://id 1', false, false],
] as const)(
  'an account of kind %s with the id %j may sign in: %s, and %s when config.yaml has no provider',
  (type, subject, isThere, isThereAlone) => {
    const former = SECTIONS.oidc.replace('  client', '  formerIssuers: [https://old]\n  client')
    const all = parseRoleConfig(`${ROLES}${SECTIONS.ldap}${former}${SECTIONS.azuread}`)
    const account = { type, subject }
    expect([isProviderThere(account, all), isProviderThere(account, parseRoleConfig(ROLES))]).toEqual([
      isThere,
      isThereAlone,
    ])
  },
)
