import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { canonicalDn, isBelow, nameOfDn } from '../../../control-plane/src/auth/roles/distinguished-name.js'
import { allowsScope, narrowest } from '../../../control-plane/src/auth/roles/token-scopes.js'

describe('the name in a distinguished name', () => {
  test.each([
    ['cn=ops,ou=groups,dc=example,dc=com', 'ops'],
    ['CN=Domain Admins,CN=Users,DC=example,DC=com', 'Domain Admins'],
    ['cn=night\\, shift,dc=x', 'night, shift'],
    ['cn=night\\2c shift,dc=x', 'night, shift'],
    ['cn=Gr\\c3\\b6\\c3\\9fe,dc=x', 'Größe'],
    ['cn=\\ two \\ ,dc=x', ' two  '],
    ['cn = spaced , dc=x', 'spaced'],
    ['cn=a\\\\b\\+c\\"d,dc=x', 'a\\b+c"d'],
    ['ou=first+cn=second,dc=x', 'second'],
    ['gidNumber=7+ou=first,dc=x', '7'],
    ['cn=only', 'only'],
    ['2.5.4.3=by number,dc=x', 'by number'],
    ['ops', null],
    ['', null],
  ])('%s is %j', (dn, name) => {
    expect(nameOfDn(dn)).toBe(name)
  })

  test('is the escaped text, whatever it contains', () => {
    const escape = (text: string) =>
      text
        .replace(/[,+"\\<>;=#]/g, '\\$&')
        .replace(/^ | $/g, '\\ ')
        .replaceAll('\0', '\\00')
    const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.trim() === text)
    fc.assert(
      fc.property(names, (name) => {
        expect(nameOfDn(`cn=${escape(name)},ou=groups,dc=example`)).toBe(name)
      }),
    )
  })

  // With work that grows faster than with the square of the length, these texts would take for ever.
  test.each([
    ['blanks before what is escaped', `cn=${' \\'.repeat(5000)}`, null],
    ['an escape that nothing follows', `cn=${' '.repeat(5000)}x\\`, null],
    ['blanks before the name', `cn=${' '.repeat(5000)}x`, 'x'],
    ['escaped blanks', `cn=${'\\ '.repeat(5000)}`, ' '.repeat(5000)],
    ['many parts', `${'ou=x,'.repeat(2000)}dc=y`, 'x'],
  ])('is found, or is not, in a long text: %s', (_, dn, name) => {
    expect(nameOfDn(dn)).toBe(name)
  })
})

describe('two distinguished names are the same', () => {
  test.each([
    ['CN=Ops, OU=Groups;DC=x', 'cn=ops,ou=groups,dc=x'],
    ['commonName=ops,domainComponent=x', 'cn=ops,dc=x'],
    ['2.5.4.3=ops,0.9.2342.19200300.100.1.25=x', 'cn=ops,dc=x'],
    ['OID.2.5.4.3=ops,dc=x', 'cn=ops,dc=x'],
    ['cn=two   words,dc=x', 'cn=two words,dc=x'],
    ['ou=b+cn=a,dc=x', 'cn=a+ou=b,dc=x'],
    ['cn=a\\,b,dc=x', 'cn=a\\2cb,dc=x'],
  ])('%s and %s', (one, other) => {
    expect(canonicalDn(one)).toBe(canonicalDn(other))
    expect(canonicalDn(one)).not.toBeNull()
  })

  test.each([
    ['cn=ops,dc=x', 'cn=ops,dc=y'],
    ['cn=ops,dc=x', 'ou=ops,dc=x'],
    ['cn=a,cn=b', 'cn=a+cn=b'],
    ['cn=a\\,cn=b', 'cn=a,cn=b'],
    ['cn=a b', 'cn=ab'],
  ])('but not %s and %s', (one, other) => {
    expect(canonicalDn(one)).not.toBe(canonicalDn(other))
  })

  test('and one is below another when it ends in it', () => {
    const below = (dn: string) => isBelow(dn, 'ou=groups,dc=x')
    expect(
      ['ou=groups,dc=x', 'cn=a,ou=groups,dc=x', 'dc=x', 'xou=groups,dc=x', 'cn=a,ou=other,dc=x'].map(below),
    ).toEqual([true, true, false, false, false])
  })
})

test.each([
  [null, null, null],
  [null, ['read'], ['read']],
  [['launch'], null, ['read', 'launch']],
  [['launch'], ['read'], ['read']],
  [['read'], ['admin'], ['read']],
  [['admin'], null, null],
  [[], null, []],
] as const)('of the scopes %j and %j a token has %j', (one, other, both) => {
  expect(narrowest(one, other)).toEqual(both)
  expect(narrowest(other, one)).toEqual(both)
  expect(allowsScope(both, 'read')).toBe(both === null || both.length > 0)
})
