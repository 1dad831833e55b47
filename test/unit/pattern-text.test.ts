import { expect, test } from 'vitest'
import { parseRoleConfig } from '../../control-plane/src/auth/roles/role-config.js'
import { PatternProblem, readPattern } from '../../control-plane/src/texts/pattern-text.js'

const nested = (levels: number): string => `${'(?:x'.repeat(levels)}${')?'.repeat(levels)}`

test.each([
  [nested(100), true],
  [nested(101), false],
  // What stands in a class or after a backslash opens and closes nothing.
  [`[${'('.repeat(500)}]`, true],
  ['\\('.repeat(500), true],
  [`${'([)]'.repeat(101)}${')'.repeat(101)}`, false],
  [`${'(\\)'.repeat(101)}${')'.repeat(101)}`, false],
  [`${'(a)'.repeat(500)}`, true],
  ['x'.repeat(10_000), true],
  ['x'.repeat(10_001), false],
  ['(', false],
])('a pattern with many brackets is read, or refused before it is compiled: %#', (text, isGood) => {
  if (isGood) expect(readPattern(text, 'u').test('no')).toBeTypeOf('boolean')
  else expect(() => readPattern(text, 'u')).toThrow(PatternProblem)
})

test('a role with such a pattern is a mistake of the file, with its line', () => {
  const text = `roles:\n  - name: admin\n  - name: ops\n    credentials:\n      - '${nested(4000)}'\n`
  expect(() => parseRoleConfig(text)).toThrow(/line 5: .* is not a regular expression/)
})
