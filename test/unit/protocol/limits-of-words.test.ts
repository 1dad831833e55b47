import {
  CommandWordsError,
  closeText,
  holdsTemplate,
  isExactNumeral,
  parseCommandPath,
  parseHostList,
  parseLimit,
  parseTags,
  shownText,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { countOfHosts, isHostPattern } from '../../../protocol/src/host-names.js'

describe('texts of a command line', () => {
  test.each<[string, (text: string) => unknown, (length: number) => string]>([
    ['a list of hosts', parseHostList, (length) => `${'a'.repeat(length - 1)},`],
    ['a limit', parseLimit, (length) => 'a'.repeat(length)],
    ['tags', parseTags, (length) => 'a'.repeat(length)],
    ['a path', parseCommandPath, (length) => 'a'.repeat(length)],
  ])('%s may have 4096 characters and no more', (_what, parse, textOf) => {
    expect(() => parse(textOf(4096))).not.toThrow()
    expect(() => parse(textOf(4097))).toThrow(new CommandWordsError('it is too long'))
  })

  test('a list may name 10000 hosts and no more', () => {
    expect(parseHostList('web[1:9999],db')).toEqual(['web[1:9999]', 'db'])
    expect(() => parseHostList('web[1:10000],db')).toThrow('it names more than 10000 hosts')
    expect(parseHostList('web[1:100][1:100],')).toEqual(['web[1:100][1:100]'])
  })

  test.each([
    ['web', 1],
    ['web[1:20]', 20],
    ['web[01:20:2]', 10],
    ['web[1:21:2]', 11],
    ['web[a:f]', 6],
    ['web[g:z]', 20],
    ['web[5:1]', 1],
    ['web[1:3][1:4]', 12],
    ['web[1:3:0]', 3],
    ['[2001:db8::1]', 1],
  ])('%s stands for %i hosts', (host, count) => {
    expect(countOfHosts(host)).toBe(count)
  })

  test('an expression may repeat three times', () => {
    expect(isHostPattern('~a*b*c+')).toBe(true)
    expect(isHostPattern('~a*b*c+d*')).toBe(false)
    expect(['!~a', '&web', '!web', '~a', '!!web'].map(isHostPattern)).toEqual([true, true, true, true, false])
  })

  test('parts are read without the spaces around them and without empty ones', () => {
    expect(parseTags(' a ,, b c ,')).toEqual(['a', 'b c'])
    expect(parseHostList('  web1  ,')).toEqual(['web1'])
    expect(parseLimit(' web1 , db:!old ')).toEqual(['web1', 'db', '!old'])
    expect(parseCommandPath('/a//b/')).toEqual(['a', 'b'])
    for (const empty of [' ', ',', ' , ']) {
      expect(() => parseTags(empty)).toThrow('it names no tag')
      expect(() => parseLimit(empty)).toThrow('it names no host')
      expect(() => parseHostList(empty)).toThrow('it must be hosts with commas')
    }
    expect(() => parseHostList('web1')).toThrow('it must be hosts with commas')
    expect(() => parseCommandPath('//')).toThrow('it names no file')
  })

  test.each([
    ['{{ x }}', true],
    ['{% x', true],
    ['{# x', true],
    ['{ x', false],
    ['{}', false],
    ['%{', false],
  ])('%s is a template: %s', (text, isOne) => {
    expect(holdsTemplate(text)).toBe(isOne)
  })

  test('80 characters of a text are shown, and no more', () => {
    expect(shownText('x'.repeat(80))).toBe(`"${'x'.repeat(80)}"`)
    expect(shownText('x'.repeat(81))).toBe(`"${'x'.repeat(80)}…"`)
  })
})

test('a number may have 1000 characters', () => {
  expect(isExactNumeral(`1.${'0'.repeat(998)}`)).toBe(true)
  expect(isExactNumeral(`1.${'0'.repeat(999)}`)).toBe(false)
})

test.each([
  ['9007199254740991', true],
  ['-9007199254740991', true],
  ['9007199254740992', false],
  ['1.50', true],
  ['-1.5e3', true],
  ['100e-2', true],
  ['0.00', true],
  ['1e309', false],
  ['-0.10000000000000000001', false],
  ['0.001', true],
  ['12000000000000000000000e1', true],
])('the number %s is exact: %s', (numeral, isExact) => {
  expect(isExactNumeral(numeral)).toBe(isExact)
})

test('the text of a close frame has at most 123 bytes and is cut between characters', () => {
  expect(closeText('x'.repeat(123))).toBe('x'.repeat(123))
  expect(closeText('x'.repeat(124))).toBe(`${'x'.repeat(120)}...`)
  expect(closeText('é'.repeat(61))).toBe('é'.repeat(61))
  expect(closeText('é'.repeat(62))).toBe(`${'é'.repeat(60)}...`)
  expect(closeText(`x${'é'.repeat(62)}`)).toBe(`x${'é'.repeat(59)}...`)
})
