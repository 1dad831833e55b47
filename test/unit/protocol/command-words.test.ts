import {
  CommandWordsError,
  isExactNumeral,
  parseCommandPath,
  parseHostList,
  parseLimit,
  parseTags,
} from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { countOfHosts, isHostPattern } from '../../../protocol/src/host-names.js'

/** Texts that users give for the command line of ansible. */
test.each<[(text: string) => unknown, string, unknown]>([
  [parseTags, ' a ,, b c ,', ['a', 'b c']],
  [parseTags, ' , ', null],
  [parseHostList, '  web1  ,', ['web1']],
  [parseHostList, 'web[1:9999],db', ['web[1:9999]', 'db']],
  [parseHostList, 'web[1:99999999],db', null],
  [parseHostList, 'web1', null],
  [parseHostList, ',', null],
  [parseLimit, ' web1 , db:!old ', ['web1', 'db', '!old']],
  [parseLimit, ' ', null],
  [parseCommandPath, '/a//b/', ['a', 'b']],
  [parseCommandPath, '//', null],
  [parseCommandPath, 'a'.repeat(100_000), null],
])('%o reads %j', (parse, text, parts) => {
  if (parts === null) expect(() => parse(text)).toThrow(CommandWordsError)
  else expect(parse(text)).toEqual(parts)
})

test.each([
  ['web', 1],
  ['web[1:20]', 20],
  ['web[01:20:2]', 10],
  ['web[1:21:2]', 11],
  ['web[a:f]', 6],
  ['web[5:1]', 1],
  ['web[1:3][1:4]', 12],
  ['web[1:3:0]', 3],
  ['[2001:db8::1]', 1],
])('%s stands for %i hosts', (host, count) => {
  expect(countOfHosts(host)).toBe(count)
})

test.each([
  ['!~a', true],
  ['&web', true],
  ['!!web', false],
  // An expression that repeats so often can take for ever.
  ['~a*b*c*d*e*f*', false],
])('%s is a pattern of hosts: %s', (pattern, isOne) => {
  expect(isHostPattern(pattern)).toBe(isOne)
})

test.each([
  ['9007199254740991', true],
  ['9007199254740992', false],
  ['-1.5e3', true],
  ['0.00', true],
  ['1e309', false],
  ['-0.10000000000000000001', false],
  ['12000000000000000000000e1', true],
])('the number %s is exact: %s', (numeral, isExact) => {
  expect(isExactNumeral(numeral)).toBe(isExact)
})
