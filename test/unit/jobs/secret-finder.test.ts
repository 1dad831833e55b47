import { describe, expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import { parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import { type LaunchOfPasswords, secretsOfLaunch } from '../../../control-plane/src/jobs/launch/launch-passwords.js'
import { MASK, holdsMask, maskValues } from '../../../control-plane/src/jobs/secrets/masking.js'
import { createSecretFinder } from '../../../control-plane/src/secrets/secret-finder.js'

const KEY = '-----BEGIN KEY-----\nfirst line of it\nlast line of it\n-----END KEY-----'

describe('a secret', () => {
  test.each([
    ['abc', 'the abc here', false],
    ['abcd', 'the abcd here', true],
    ['abcd', 'abcd', true],
    ['abcd', 'it ends with abcd', true],
    ['abcd', 'abc d', false],
    ['  abcd\n', 'abcd', true],
    ['a "quoted" word', String.raw`{"x":"a \"quoted\" word"}`, true],
    ['a "quoted" word', JSON.stringify(JSON.stringify({ x: 'a "quoted" word' })), true],
    ['a<b>&"c"', '<p>a&lt;b&gt;&amp;&quot;c&quot;</p>', true],
    ['a b/c?d', 'https://x/?q=a%20b%2Fc%3Fd', true],
    ['half \uD83D and more', 'half \uD83D and more', true],
    ['one line\nother line', 'only other line', true],
    ['one line\r\nother line', 'only one line', true],
    [KEY, 'a last line of it.', true],
    [KEY, '-----BEGIN KEY-----', false],
    ['{"a": {"token": "in\\u00e4ner-1"}}', 'the inäner-1', true],
    ['{"a": {"mode": "production"}}', 'in production', false],
    ['A=b\nPASSWORD="in ner-1"', 'in ner-1', true],
    ['postgres://app:p%40ss1@db/x', 'p@ss1', true],
    ['postgres://app:p%40ss1@db/x', 'postgres at db', false],
    ['user:in;ner-1', 'in;ner-1', true],
    ["it's in/here", String.raw`'it'"'"'s in/here'`, true],
    ["it's in/here", String.raw`it\'s\ in\/here`, true],
    ["it's in/here", String.raw`\x69\x74\x27\x73\x20\x69\x6e\x2f\x68\x65\x72\x65`, true],
    ["it's in/here", String.raw`\151\164\047\163\040\151\156\057\150\145\162\145`, true],
    ["it's in/here", String.raw`\i\t\'\s\ \i\n\/\h\e\r\e`, true],
    ["it's in/here", 'it%27s+in%2fhere', true],
    ["it's in/here", 'it&#39;s in&#x2f;here', true],
    ["it's in/here", "it's in/\n   here", true],
    ["it's in/here", '6974277320696e2f68657265', true],
    ["it's in/here", 'its in here', false],
  ])('%j is found in %j: %s', (secret, text, isFound) => {
    const finder = createSecretFinder(['zzzzz', secret])
    expect(finder.holds(text)).toBe(isFound)
    expect(finder.hide(text, MASK) === text).toBe(!isFound)
  })

  test.each(['', 'a', 'ab', 'abc', 'abcd:'])('is found in base64 behind %j, also as the text of a URL', (before) => {
    const secret = 'pass>word?~x'
    const finder = createSecretFinder([secret])
    const text = Buffer.from(`${before}${secret}`)
    for (const written of [text.toString('base64'), text.toString('base64url')]) {
      expect([written, finder.holds(`Basic ${written}`)]).toEqual([written, true])
    }
    const other = Buffer.from(`${before}another text`).toString('base64')
    expect(finder.holds(`Basic ${other}`)).toBe(false)
  })

  test('of a few characters is not looked for in base64, where it would be found by chance', () => {
    // `abcd` is `YWJjZA` there. Six bytes are eight characters, and these are looked for.
    expect(createSecretFinder(['abcd']).holds('YWJjZA==')).toBe(false)
    expect(createSecretFinder(['abcdef']).holds('YWJjZGVm')).toBe(true)
  })

  test('that is a part of another one leaves no rest of that one', () => {
    const finder = createSecretFinder(['word', 'password'])
    expect(finder.hide('a password, a word', '*')).toBe('a *, a *')
    expect(createSecretFinder(['$&$&']).hide('x $&$& x', '$&')).toBe('x $& x')
  })

  test('is taken for found when it would take too long to look: after two million comparisons', () => {
    const most = 2_000_000
    const finder = createSecretFinder(['abcdX'])
    // The first four characters are those of the secret, so each of them is one comparison.
    expect(finder.holds('abcd'.repeat(most))).toBe(false)
    expect(finder.holds('nothing of it')).toBe(false)
    expect(finder.holds('abcd')).toBe(true)
  })
})

test('without secrets nothing is found', () => {
  const finder = createSecretFinder(['', 'abc'])
  expect([finder.holds('abc'), finder.hide('abc', MASK)]).toEqual([false, 'abc'])
})

describe('a mask', () => {
  test.each([
    [MASK, true],
    [{ a: [1, { b: MASK }] }, true],
    [{ a: null, b: `${MASK} ` }, false],
    [null, false],
    [undefined, false],
    [0, false],
  ])('stands in %j: %s', (value, isThere) => {
    expect(holdsMask(value)).toBe(isThere)
  })

  test('hides texts below a hidden name, everything of a password field, and not an empty password field', () => {
    const shown = maskValues(
      { secret: [{ a: 'x', b: [1, 'y', null] }], pin: { a: 1 }, none: { pin: null }, open: ['x'] },
      /secret/,
      new Set(['pin']),
    )
    expect(shown).toEqual({
      secret: [{ a: MASK, b: [1, MASK, null] }],
      pin: MASK,
      none: { pin: null },
      open: ['x'],
    })
  })
})

describe('the passwords of a launch', () => {
  const password = (name: string, more: object = {}) => parseField({ name, type: 'password', ...more })
  const launch = (changes: Partial<LaunchOfPasswords>): LaunchOfPasswords => ({
    form: { fields: [], wizard: [], passwordFields: [] },
    subforms: {},
    rawFormData: null,
    extravars: {},
    checked: [],
    ...changes,
  })
  const valuesOf = (changes: Partial<LaunchOfPasswords>) => secretsOfLaunch(launch(changes)).values.toSorted()

  test('are texts and numbers of password fields, at any depth of their values', () => {
    const form = { fields: [password('pin'), parseField({ name: 'plain' })], wizard: [], passwordFields: ['pin'] }
    const of = (pin: unknown) => valuesOf({ form, rawFormData: { pin, plain: 'open' } })
    expect(of('typed')).toEqual(['typed'])
    expect(of(4711)).toEqual(['4711'])
    expect(of(['one', { two: ['three', 4, '', true, null] }])).toEqual(['4', 'one', 'three'])
    for (const none of ['', null, undefined, true, []]) expect(of(none)).toEqual([])
    expect(valuesOf({ form, extravars: { pin: 'of variables', plain: 'open' } })).toEqual(['of variables'])
    expect(secretsOfLaunch(launch({ form })).keys).toEqual(new Set(['pin']))
  })

  test('are those of rows and of wizard steps, too, in the values and in the variables', () => {
    const table = parseField({ name: 'users', type: 'list', subform: 'row' } as Parameters<typeof parseField>[0])
    const subforms = { row: [password('pw'), parseField({ name: 'login' })], step: [password('code')] }
    const form = {
      fields: [table],
      wizard: [parseWizardStep({ name: 'page', subform: 'step' })],
      passwordFields: ['pw', 'code'],
    }
    const rows = [{ login: 'ann', pw: 'first' }, { login: 'ben', pw: 'second' }, 'no row', null]
    expect(valuesOf({ form, subforms, rawFormData: { users: rows, page: { code: 'third' } } })).toEqual([
      'first',
      'second',
      'third',
    ])
    expect(valuesOf({ form, subforms, rawFormData: { users: 'x', page: 'y' } })).toEqual([])
    expect(valuesOf({ form, subforms, extravars: { users: [{ login: 'ann', pw: ['first'] }] } })).toEqual(['first'])
    expect(valuesOf({ form, subforms, extravars: { users: { web: { pw: 'deep' } } } })).toEqual(['deep'])
  })

  test('are 1000 at most, each counted once', () => {
    const many = (count: number) => Array.from({ length: count }, (_, number) => `password ${number}`)
    expect(valuesOf({ checked: [...many(1000), ...many(1000)] })).toHaveLength(1000)
    expect(() => valuesOf({ checked: many(1001) })).toThrow(RefusedValuesError)
  })
})
