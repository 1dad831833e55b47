import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { yamlText } from '../../control-plane/web/src/parts/yaml-text.js'

test('a value is written in blocks, with keys and texts in quotes where they need them', () => {
  const value = {
    host: 'web1',
    ports: [80, 443],
    yes: true,
    'a key': { none: null, list: [], map: {} },
    rows: [[1], { a: 1 }],
  }
  expect(yamlText(value)).toBe(`host: "web1"
ports:
  - 80
  - 443
"yes": true
"a key":
  none: null
  list: []
  map: {}
rows:
  -
    - 1
  -
    "a": 1
`)
  expect(yamlText('one')).toBe('"one"\n')
  // More digits than a number of JavaScript has.
  expect(yamlText({ long: 12_345_678_901_234_567_890n })).toBe('long: 12345678901234567890\n')
})

test.each(['1.1', '1.2'] as const)('what a reader of YAML %s makes of any value is that value', (version) => {
  const odd = [
    'yes',
    'No',
    'on',
    '~',
    'null',
    '1e3',
    '0x1f',
    '1:30',
    '<<',
    '- a',
    'a: b',
    '#',
    '',
    ' a ',
    'a\n\nb\n',
    '\t',
    '!x',
    '*x',
    '&x',
    '%x',
  ]
  const text = fc.oneof(fc.constantFrom(...odd), fc.string({ unit: 'binary' }), fc.constant('long'.repeat(400)))
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      text,
      fc.integer(),
      fc.double({ noDefaultInfinity: true, noNaN: true }).filter((number) => !Object.is(number, -0)),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(text, tie('value')),
    ),
  }))
  fc.assert(
    fc.property(value, (given) => {
      expect(parse(yamlText(given), { version })).toEqual(given)
    }),
  )
})
