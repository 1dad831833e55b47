import { describe, expect, test } from 'vitest'
import { checkGroups, checkPassword, checkUsername } from '../../../control-plane/src/auth/accounts/account-rules.js'
import { subjectOf, valuesOf } from '../../../control-plane/src/auth/ldap/entry.js'
import { type Claims, identityOf } from '../../../control-plane/src/auth/openid/claims.js'
import { discoveryFailure, refusalOf } from '../../../control-plane/src/auth/openid/refusals.js'
import type { OpenIdSettings } from '../../../control-plane/src/auth/roles/provider-config.js'
import { ConflictError } from '../../../control-plane/src/errors.js'

const OIDC: OpenIdSettings = {
  kind: 'oidc',
  issuer: 'https://id',
  formerIssuers: [],
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
    expect(identity({ email: 'jo@x', groups: ['a', '', 5, 'b'] }, { formerIssuers: ['https://old'] })).toEqual({
      type: 'oidc',
      username: 'jo',
      subject: 'https://id 1',
      formerSubjects: ['https://old 1'],
      email: 'jo@x',
      groups: [{ name: 'a' }, { name: 'b' }],
    })
    expect(identity({ groups: 'one', email: '' })).toMatchObject({ groups: [{ name: 'one' }], email: null })
    expect(identity({ groups: ['ops', 'dev'] }, { groupFilter: '^o' })?.groups).toEqual([{ name: 'ops' }])
  })

  test.each([{ preferred_username: '' }, { preferred_username: 5 }, { sub: undefined }, { sub: '' }, { iss: null }])(
    'is nobody with the claims %j',
    (more) => {
      expect(identity(more)).toBeNull()
    },
  )

  test('is named by an address only when it is verified', () => {
    const byEmail = { usernameClaim: 'email' }
    expect(identity({ email: 'jo@x', email_verified: true }, byEmail)?.username).toBe('jo@x')
    for (const verified of [undefined, false, 'true']) {
      expect(identity({ email: 'jo@x', email_verified: verified }, byEmail)).toBeNull()
    }
  })

  test.each([
    ['groups', { groups: ['a'] }, ['a']],
    ['realm.roles', { realm: { roles: ['a'] } }, ['a']],
    ['realm.roles', { 'realm.roles': ['b'], realm: { roles: ['a'] } }, ['b']],
    ['https://x\\.y/claims.roles', { 'https://x.y/claims': { roles: ['a'] } }, ['a']],
    ['realm.roles', { realm: ['roles'] }, []],
    ['realm.roles', { realm: null }, []],
    ['realm.roles', { realm: 'roles' }, []],
    ['realm.toString', { realm: {} }, []],
    ['none', {}, []],
  ])('has the groups of the claim %s in %j: %j', (claim, claims, groups) => {
    expect(identity(claims, { groups: { claim } })?.groups.map(({ name }) => name)).toEqual(groups)
  })

  test('of Entra ID is known by the person, not by the application, and groups come from Graph', () => {
    const entra = { ...OIDC, kind: 'azuread', groups: { graphUrl: 'https://graph' }, groupFilter: '^(o|2)' } as const
    const graph = [
      { id: '1', name: 'ops' },
      { id: '2', name: null },
      { id: '3', name: 'dev' },
    ]
    expect(identityOf(entra, { ...CLAIMS, oid: 'person', groups: ['no'] }, graph)).toMatchObject({
      type: 'azuread',
      subject: 'https://id person',
      groups: graph.slice(0, 2),
    })
    expect(identityOf(entra, CLAIMS, [])?.subject).toBe('https://id 1')
    expect(identity({ oid: 'person' })?.subject).toBe('https://id 1')
  })
})

describe('an error of a provider', () => {
  const logged: string[] = []
  const log = {
    warn: (_: object, text: string) => logged.push(`warn: ${text}`),
    error: (_: object, text: string) => logged.push(`error: ${text}`),
  }
  const codeOf = (error: unknown) => refusalOf('oidc', error, log).code
  const withCode = (code: string) => Object.assign(new Error('x'), { code })
  const withWord = (error: string) => Object.assign(new Error('x'), { error })

  test.each([
    'OAUTH_TIMEOUT',
    'OAUTH_ABORT',
    'OAUTH_RESPONSE_IS_NOT_CONFORM',
    'OAUTH_RESPONSE_IS_NOT_JSON',
    'OAUTH_PARSE_ERROR',
  ])('with the code %s means that it does not answer as it should', (code) => {
    expect(codeOf(withCode(code))).toBe('provider_unreachable')
  })

  test('of the network means the same', () => {
    expect(codeOf(new TypeError('fetch failed'))).toBe('provider_unreachable')
  })

  test.each([
    withWord('invalid_client'),
    withWord('unauthorized_client'),
    withCode('OAUTH_WWW_AUTHENTICATE_CHALLENGE'),
  ])('may mean that it does not know this service: %j', (error) => {
    expect(codeOf(error)).toBe('provider_refused')
  })

  test.each([withWord('access_denied'), withWord('other'), withCode('OTHER'), null, 'text'])(
    'else refuses the sign-in: %j',
    (error) => {
      expect(codeOf(error)).toBe('sign_in_refused')
    },
  )

  test('of this service stays as it is', () => {
    const own = new ConflictError('own', 'of this service')
    expect(refusalOf('oidc', own, log)).toBe(own)
    expect(discoveryFailure(OIDC, own, log)).toBe(own)
    expect(discoveryFailure(OIDC, new Error('away'), log).code).toBe('provider_unreachable')
  })
})

describe('an entry of a directory', () => {
  const entry = {
    dn: 'uid=jo',
    entryUUID: 'ABC-1',
    objectGUID: Buffer.from([0, 255]),
    Mail: [Buffer.from('a'), Buffer.from('b')],
    none: [],
  }

  test('has values under a name in any letters', () => {
    expect(valuesOf(entry, 'mail')).toEqual(['a', 'b'])
    expect(valuesOf(entry, 'ENTRYUUID')).toEqual(['ABC-1'])
    expect([valuesOf(entry, 'none'), valuesOf(entry, 'other')]).toEqual([[], []])
  })

  test.each([
    [['entryUUID', 'objectGUID'], 'entryuuid abc-1'],
    [['other', 'objectguid'], 'objectguid 00ff'],
    [['none', 'mail'], 'mail a'],
    [['none', 'other'], null],
    [[], null],
  ])('is known by the first of the attributes %j that it has: %s', (attributes, subject) => {
    expect(subjectOf(entry, attributes)).toBe(subject)
  })

  test('whose id has other characters than printable ones is known by its bytes', () => {
    expect(subjectOf({ dn: '', id: 'a b' }, ['id'])).toBe('id 612062')
    expect(subjectOf({ dn: '', id: '' }, ['id'])).toBeNull()
  })
})

describe('a local account', () => {
  test.each([['a'], ['1._@+-'], ['é'.repeat(100)]])('may be named %s', (name) => {
    expect(() => checkUsername(name)).not.toThrow()
  })

  test.each([[''], ['-a'], ['a b'], ['a/b'], ['a:b'], ['a'.repeat(101)], ['a\n']])('may not be named %j', (name) => {
    expect(() => checkUsername(name)).toThrow('A username is 1 to 100')
  })

  test('has a password of 12 to 1024 characters that is not its name', () => {
    for (const length of [12, 1024]) expect(() => checkPassword('x'.repeat(length), 'jo')).not.toThrow()
    expect(() => checkPassword('x'.repeat(11), 'jo')).toThrow('at least 12 characters')
    expect(() => checkPassword('x'.repeat(1025), 'jo')).toThrow('at most 1024 characters')
    expect(() => checkPassword('Joanna-Joanna', 'joanna-JOANNA')).toThrow('must not be the username')
  })

  test('is in groups without a slash, each once', () => {
    expect(checkGroups(['ops', 'a b', 'ops', 'x'.repeat(100)])).toEqual(['ops', 'a b', 'x'.repeat(100)])
    for (const group of ['', ' a', 'a ', 'local/ops', 'a\nb', 'x'.repeat(101)]) {
      expect(() => checkGroups(['fine', group]), group).toThrow('A group is a name of 1 to 100 characters')
    }
  })
})
