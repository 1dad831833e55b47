import { expect, test } from 'vitest'
import { createJsonBounds } from '../../../control-plane/src/texts/json-bounds.js'

/** What is said about a text that arrives at once: the word of the refusal, or null. */
function refusalOf(text: string): unknown {
  try {
    createJsonBounds().take(Buffer.from(text))
    return null
  } catch (error) {
    return error
  }
}

const listOf = (item: string, count: number) => `[${Array.from({ length: count }, () => item).join()}]`
const tooMany = expect.objectContaining({
  code: 'too_many_values',
  message: 'A body may have 50000 values and names together',
}) as unknown
const tooDeep = expect.objectContaining({
  code: 'too_deep',
  message: 'A body may be nested 100 levels deep',
}) as unknown

test.each([
  ['a list and its 49,999 numbers', listOf('1', 49_999), null],
  ['a list and its 50,000 numbers', listOf('1', 50_000), tooMany],
  ['a list and its 50,000 texts', listOf('"a"', 50_000), tooMany],
  ['lists, which count twice: for their place and for what may be in them', listOf('[]', 24_999), null],
  ['one list more', listOf('[]', 25_000), tooMany],
  ['objects, which count as lists do', listOf('{}', 24_999), null],
  ['one object more', listOf('{}', 25_000), tooMany],
  ['names and their values', `[{${listOf('"a":1', 24_999).slice(1, -1)}}]`, null],
  ['one name more', `[{${listOf('"a":1', 25_000).slice(1, -1)}}]`, tooMany],
])('a body may have 50,000 values and names: %s', (_what, text, refusal) => {
  expect(refusalOf(text)).toEqual(refusal)
})

test.each([
  ['101 lists', '['.repeat(101), null],
  ['102 lists', '['.repeat(102), tooDeep],
  ['101 objects', '{"a":'.repeat(101), null],
  ['102 objects', '{"a":'.repeat(102), tooDeep],
  ['many lists beside each other', `[${'[],'.repeat(200)}1]`, null],
  ['many objects beside each other', `[${'{},'.repeat(200)}1]`, null],
])('a body may be nested 100 levels deep below its outermost value: %s', (_what, text, refusal) => {
  expect(refusalOf(text)).toEqual(refusal)
})

test('nothing within a text counts, also when the text comes in pieces', () => {
  const bounds = createJsonBounds()
  const pieces = ['["', '['.repeat(200), '\\', '"', ','.repeat(60_000), '1152921504606846977', '\\\\"', ',1', ']']
  for (const piece of pieces) bounds.take(Buffer.from(piece))
  expect(bounds.inexactNumber()).toBeNull()
  // The text is over: what follows counts again.
  expect(() => bounds.take(Buffer.from('['.repeat(102)))).toThrow(expect.objectContaining({ code: 'too_deep' }))
})

test.each([
  ['with the fewest digits that can be too many', '9007199254740993'],
  ['below zero', '-9007199254740993'],
  ['with a point', '0.12345678901234567891'],
  ['with a power of ten', '1e400'],
  ['with a large E', '1E400'],
  ['with a sign in the power', '1e+400'],
  ['with a power below zero', '1e-400'],
  ['with the first and the last digit', '9000000000000000090'],
])('a number that JavaScript would change is named as it is written: %s', (_what, numeral) => {
  for (const [before, after] of [
    ['', ''],
    ['[', ']'],
    ['[true,false,null,', ',1]'],
    ['["",', ',"\\""]'],
    ['{"a":', ',"b":1152921504606846977}'],
  ]) {
    const bounds = createJsonBounds()
    bounds.take(Buffer.from(`${before}${numeral}${after}`))
    expect(bounds.inexactNumber()).toBe(numeral)
  }
})

test('a number in two pieces is one number, and exact ones are none of concern', () => {
  const bounds = createJsonBounds()
  for (const piece of ['[1,2.50,-3,0.1,1e3,900719925', '4740991,123456789012345 , 900719925474099', '3]'])
    bounds.take(Buffer.from(piece))
  expect(bounds.inexactNumber()).toBe('9007199254740993')
})

test('a number of any length is kept up to the first characters that nobody would write', () => {
  const bounds = createJsonBounds()
  bounds.take(Buffer.from('1'.repeat(5000)))
  expect(bounds.inexactNumber()?.length).toBeLessThan(1100)
})
