import { expect, test } from 'vitest'
import { createAnswerCache } from '../../../control-plane/src/sources/answer-cache.js'

const answer = (letters: number) => ({ ok: true as const, value: 'x'.repeat(letters) })
/** How long the JSON of such an answer is without its letters. */
const FRAME = JSON.stringify(answer(0)).length

function cacheOf(maxLength: number) {
  const time = { ms: 0 }
  const cache = createAnswerCache({ now: () => time.ms }, maxLength)
  const known = (...keys: string[]) => keys.filter((key) => cache.find(key) !== null).join('')
  return { cache, time, known }
}

test('an answer is kept for its time', () => {
  const { cache, time, known } = cacheOf(4000)
  cache.keep('a', answer(1), 10)
  cache.keep('b', answer(1), 0)
  time.ms = 9
  expect(known('a', 'b')).toBe('a')
  time.ms = 10
  expect(known('a')).toBe('')
})

test('one answer may use at most a quarter of the cache', () => {
  const { cache, known } = cacheOf(4000)
  cache.keep('a', answer(1000 - FRAME), 10)
  cache.keep('b', answer(1001 - FRAME), 10)
  expect(known('a', 'b')).toBe('a')
})

test('in a full cache the answer that was not used for the longest time is removed', () => {
  const { cache, known } = cacheOf(4000)
  for (const key of ['a', 'b', 'c', 'd']) cache.keep(key, answer(1000 - FRAME), 10)
  expect(known('b', 'c', 'd', 'a')).toBe('bcda')
  cache.keep('e', answer(1000 - FRAME), 10)
  expect(known('a', 'b', 'c', 'd', 'e')).toBe('acde')
  // The same question anew takes its own place, and no more.
  cache.keep('e', answer(1000 - FRAME), 10)
  expect(known('a', 'c', 'd', 'e')).toBe('acde')
})

test('an answer that is too old frees its space', () => {
  const { cache, time, known } = cacheOf(4000)
  cache.keep('long', answer(1000 - FRAME), 100)
  for (const key of ['a', 'b', 'c']) cache.keep(key, answer(1000 - FRAME), 10)
  time.ms = 10
  expect(known('a', 'b', 'c')).toBe('')
  cache.keep('d', answer(1000 - FRAME), 100)
  expect(cache.find('long')).not.toBeNull()
})
