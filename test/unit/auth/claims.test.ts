import { describe, expect, test } from 'vitest'
import { subjectOf } from '../../../control-plane/src/auth/ldap/entry.js'
import { type Claims, identityOf } from '../../../control-plane/src/auth/openid/claims.js'
import type { OpenIdSettings } from '../../../control-plane/src/auth/roles/provider-config.js'

const OIDC: OpenIdSettings = {
  kind: 'oidc',
  issuer: 'https://id',
  formerIssuers: ['https://old'],
  clientId: 'holdfast',
  clientCredential: null,
  scopes: ['openid'],
  usernameClaim: 'preferred_username',
  groups: { claim: 'groups' },
  groupFilter: null,
}
const CLAIMS = { iss: 'https://id', sub: '1', preferred_username: 'jo' }

describe('the user that claims describe', () => {
  const identity = (more: Claims = {}, settings: Partial<OpenIdSettings> = {}) =>
    identityOf({ ...OIDC, ...settings }, { ...CLAIMS, ...more }, [])

  test('has a name, an id for each issuer, an address and groups', () => {
    expect(identity({ email: 'jo@x', groups: ['a', '', 5, 'b'] })).toEqual({
      type: 'oidc',
      username: 'jo',
      subject: 'https://id 1',
      formerSubjects: ['https://old 1'],
      email: 'jo@x',
      groups: [{ name: 'a' }, { name: 'b' }],
    })
    expect(identity({ groups: ['ops', 'dev'] }, { groupFilter: '^o' })?.groups).toEqual([{ name: 'ops' }])
    expect(identity({ email: 'jo@x', email_verified: 'true' }, { usernameClaim: 'email' })).toBeNull()
  })

  test.each([
    ['groups', { groups: 'one' }, ['one']],
    ['realm.roles', { realm: { roles: ['a'] } }, ['a']],
    ['realm.roles', { 'realm.roles': ['b'], realm: { roles: ['a'] } }, ['b']],
    ['https://x\\.y/claims.roles', { 'https://x.y/claims': { roles: ['a'] } }, ['a']],
    ['realm.roles', { realm: ['roles'] }, []],
    ['realm.roles', { realm: null }, []],
    ['realm.toString', { realm: {} }, []],
    ['none', {}, []],
  ])('has the groups of the claim %s in %j: %j', (claim, claims, groups) => {
    expect(identity(claims, { groups: { claim } })?.groups.map(({ name }) => name)).toEqual(groups)
  })

  test('of Entra ID is known by the person, not by the application', () => {
    const entra = { ...OIDC, kind: 'azuread', groups: { graphUrl: 'https://graph' } } as const
    expect(identityOf(entra, { ...CLAIMS, oid: 'person' }, [])?.subject).toBe('https://id person')
    expect(identity({ oid: 'person' })?.subject).toBe('https://id 1')
  })
})

test.each([
  [['entryUUID', 'objectGUID'], 'entryuuid abc-1'],
  [['other', 'objectguid'], 'objectguid 00ff'],
  [['odd'], 'odd 612062'],
  [['none', 'empty'], null],
])('an entry of a directory is known by the first of the attributes %j that it has: %s', (attributes, subject) => {
  const entry = { dn: '', entryUUID: 'ABC-1', objectGUID: Buffer.from([0, 255]), odd: 'a b', none: [], empty: '' }
  expect(subjectOf(entry, attributes)).toBe(subject)
})
