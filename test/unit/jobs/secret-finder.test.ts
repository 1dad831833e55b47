import { describe, expect, test } from 'vitest'
import { parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import { secretsOfLaunch } from '../../../control-plane/src/jobs/launch/launch-passwords.js'
import { MASK, maskValues } from '../../../control-plane/src/jobs/secrets/masking.js'
import { splitVariables } from '../../../control-plane/src/jobs/secrets/secret-values.js'
import { createSecretFinder } from '../../../control-plane/src/secrets/secret-finder.js'

const KEY = '-----BEGIN KEY-----\nfirst line of it\nlast line of it\n-----END KEY-----'

describe('a secret', () => {
  test.each([
    ['abc', 'the abc here', false],
    ['abcd', 'the abcd here', true],
    ['  abcd\n', 'abcd', true],
    ['a "quoted" word', String.raw`{"x":"a \"quoted\" word"}`, true],
    ['a "quoted" word', JSON.stringify(JSON.stringify({ x: 'a "quoted" word' })), true],
    ['a<b>&"c"', '<p>a&lt;b&gt;&amp;&quot;c&quot;</p>', true],
    ['a b/c?d', 'https://x/?q=a%20b%2Fc%3Fd', true],
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
    ["it's in/here", 'it%27s+in%2fhere', true],
    ["it's in/here", 'it&#39;s in&#x2f;here', true],
    ["it's in/here", "it's in/\n   here", true],
    ["it's in/here", '6974277320696e2f68657265', true],
    ["it's in/here", 'its in here', false],
    // Of a few characters it would be found in base64 by chance.
    ['abcd', 'YWJjZA==', false],
    ['abcdef', 'YWJjZGVm', true],
  ])('%j is found in %j: %s', (secret, text, isFound) => {
    const finder = createSecretFinder(['zzzzz', secret])
    expect([finder.holds(text), finder.hide(text, MASK) === text]).toEqual([isFound, !isFound])
  })

  test.each(['', 'a', 'ab', 'abcd:'])('is found in base64 behind %j, also as the text of a URL', (before) => {
    const finder = createSecretFinder(['pass>word?~x'])
    const found = (text: string) =>
      (['base64', 'base64url'] as const).map((how) => finder.holds(`Basic ${Buffer.from(before + text).toString(how)}`))
    expect([found('pass>word?~x'), found('another text')]).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('that is a part of another one leaves no rest of that one', () => {
    expect(createSecretFinder(['word', 'password']).hide('a password, a word', '*')).toBe('a *, a *')
    expect(createSecretFinder(['$&$&']).hide('x $&$& x', '$&')).toBe('x $& x')
  })

  test('is taken for found when it would take too long to look', () => {
    const finder = createSecretFinder(['abcdX'])
    // The first four characters are those of the secret.
    expect([finder.holds('abcd'.repeat(2_000_000)), finder.holds('abcd')]).toEqual([false, true])
  })
})

test('texts below a hidden name are masked, everything of a password field, and not an empty one', () => {
  const values = { secret: [{ a: 'x', b: [1, 'y', null] }], pin: { a: 1 }, none: { pin: null }, open: ['x'] }
  const shown = { secret: [{ a: MASK, b: [1, MASK, null] }], pin: MASK, none: { pin: null }, open: ['x'] }
  expect(maskValues(values, /secret/, new Set(['pin']))).toEqual(shown)
})

describe('the passwords of a launch', () => {
  const password = (name: string) => parseField({ name, type: 'password' })
  const form = {
    fields: [password('pin'), parseField({ name: 'users', type: 'list', subform: 'row' } as never)],
    wizard: [parseWizardStep({ name: 'page', subform: 'step' })],
    passwordFields: ['pin', 'pw', 'code'],
  }
  const subforms = { row: [password('pw'), parseField({ name: 'login' })], step: [password('code')] }
  const valuesOf = (changes: object) =>
    secretsOfLaunch({ form, subforms, rawFormData: null, extravars: {}, checked: [], ...changes }).values.toSorted()

  test.each<[object, string[]]>([
    [{ rawFormData: { pin: 'typed', plain: 'open' } }, ['typed']],
    [{ rawFormData: { pin: ['one', { two: ['three', 4, '', true, null] }] } }, ['4', 'one', 'three']],
    [{ extravars: { pin: 4711, plain: 'open' } }, ['4711']],
    [
      { rawFormData: { users: [{ login: 'ann', pw: 'first' }, 'no row', null], page: { code: 'third' } } },
      ['first', 'third'],
    ],
    [{ extravars: { users: { web: { pw: ['deep'] } } } }, ['deep']],
    [{ rawFormData: { users: 'x', page: 'y', pin: '' } }, []],
  ])('in %j are %j', (changes, expected) => {
    expect(valuesOf(changes)).toEqual(expected)
  })
})

describe('the variables of a launch', () => {
  const PASSWORD = 'a long password'

  test.each<[string, object, string[], object]>([
    [
      'below the key of a password field',
      { deep: { pin: 7, rows: [{ pin: 'y' }, { pin: '' }] } },
      [],
      { deep: { pin: MASK, rows: [{ pin: MASK }, { pin: '' }] } },
    ],
    [
      'where they hold a password',
      { said: `the ${PASSWORD}!`, number: 123456789, map: { [PASSWORD]: 'x' } },
      [PASSWORD, '123456789'],
      { said: MASK, number: MASK, map: { [MASK]: 'x' } },
    ],
    [
      'not by a name in the launching user',
      { ansibleforms_user: { pin: 'x', name: PASSWORD } },
      [PASSWORD],
      { ansibleforms_user: { pin: 'x', name: MASK } },
    ],
  ])('are masked %s, and kept as they are', (_what, variables, values, masked) => {
    const { shown, secret } = splitVariables({ plain: 'x', ...variables }, { values, keys: new Set(['pin']) })
    expect([shown, secret]).toEqual([
      { plain: 'x', ...masked },
      { variables, hidden: values },
    ])
  })
})
