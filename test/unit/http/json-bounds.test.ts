import { expect, test } from 'vitest'
import { createJsonBounds } from '../../../control-plane/src/texts/json-bounds.js'

/** The code of the refusal of a text that comes in pieces, or null. */
function refusalOf(text: string, pieceLength = 1000): string | null {
  const bounds = createJsonBounds()
  try {
    for (let at = 0; at < text.length; at += pieceLength) bounds.take(Buffer.from(text.slice(at, at + pieceLength)))
    return null
  } catch (error) {
    return (error as { code: string }).code
  }
}
const listOf = (item: string, count: number) => `[${Array.from({ length: count }, () => item).join()}]`

test.each(['1', '"a"', '[]', '{}', '{"a":1}'])('a body may have many values such as %s, and not any number', (item) => {
  expect(refusalOf(listOf(item, 10_000))).toBeNull()
  expect(refusalOf(listOf(item, 100_000))).toBe('too_many_values')
})

test.each(['[', '{"a":'])('a body may be deep, and not of any depth: %s', (start) => {
  expect(refusalOf(start.repeat(80))).toBeNull()
  expect(refusalOf(start.repeat(200))).toBe('too_deep')
  const end = start === '[' ? ']' : '1}'
  expect(refusalOf(listOf(`${start}${end}`, 1000))).toBeNull()
})

test.each([1, 2, 7, 1000])('nothing within a text counts, and what follows counts again, in pieces of %i', (length) => {
  const text = `["${'['.repeat(200)}\\"${','.repeat(60_000)}\\\\"`
  expect(refusalOf(`${text}]`, length)).toBeNull()
  expect(refusalOf(`${text},${'['.repeat(200)}`, length)).toBe('too_deep')
})

test('a number of any length is kept up to the first characters that nobody would write', () => {
  const bounds = createJsonBounds()
  bounds.take(Buffer.from('1'.repeat(50_000)))
  expect(bounds.inexactNumber()?.length).toBeLessThan(5000)
})
