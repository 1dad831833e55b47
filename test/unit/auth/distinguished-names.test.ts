import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameOfDn } from '../../../control-plane/src/auth/roles/distinguished-name.js'

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

  test('is not there without an equals sign, and any other text is read or refused, too', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (text) => {
        const name = nameOfDn(text)
        expect(name === null || text.includes('=')).toBe(true)
      }),
    )
  })
})
