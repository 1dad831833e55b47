import { expect, test } from 'vitest'
import { concurrencyOf, timeoutOf } from '../../../control-plane/src/forms/parse/limits.js'
import { countTime, durationWords } from '../../../control-plane/src/jobs/limits/count-time.js'

test('a time limit is a number of seconds, or has a unit; without one a job may run for ever', () => {
  expect([90, '30m', '2h', '1s', undefined, null].map(timeoutOf)).toEqual([90_000, 1.8e6, 7.2e6, 1000, null, null])
  for (const given of [0, -1, '400d', 0.5, true, ['1h'], { h: 1 }, '', 'soon']) expect(() => timeoutOf(given)).toThrow()
})

test('a group has a name, places, and what becomes of others', () => {
  expect(concurrencyOf({ group: 'g' })).toEqual({ group: 'g', limit: 1, on: 'queue' })
  expect(concurrencyOf({ group: 'g', limit: 7, on: 'refuse' })).toEqual({ group: 'g', limit: 7, on: 'refuse' })
  expect(concurrencyOf(undefined)).toBeNull()
})

test.each<[unknown, string]>([
  [5, 'must be an object'],
  [{}, 'concurrency.group'],
  [{ group: '  ' }, 'concurrency.group'],
  [{ group: 7 }, 'concurrency.group'],
  [{ group: 'a$(b)' }, 'placeholder'],
  [{ group: 'g', limit: 0 }, 'concurrency.limit'],
  [{ group: 'g', limit: 1.5 }, 'concurrency.limit'],
  [{ group: 'g', limit: '2' }, 'concurrency.limit'],
  [{ group: 'g', on: 'wait' }, 'concurrency.on'],
  [{ group: 'g', more: 1 }, 'concurrency.more'],
])('the group %j is refused', (given, words) => {
  expect(() => concurrencyOf(given)).toThrow(words)
})

test('the time between two looks counts, unless they are far apart', () => {
  const job = { limitMs: 20_000, ranMs: 8000, countedAt: 100_000 }
  expect(countTime({ ...job, countedAt: null }, 500_000)).toEqual({ ranMs: 8000, isOver: false })
  expect([countTime(job, 101_000), countTime(job, 99_000)]).toEqual([null, null])
  expect(countTime(job, 106_000)).toEqual({ ranMs: 14_000, isOver: false })
  expect(countTime(job, 160_000)).toEqual({ ranMs: 8000, isOver: false })
  expect(countTime({ ...job, ranMs: 19_000 }, 101_000)).toEqual({ ranMs: 20_000, isOver: true })
  expect(countTime({ ...job, ranMs: 19_000 }, 100_999)).toBeNull()
})

test.each([
  [1000, '1 second'],
  [61_000, '61 seconds'],
  [1_800_000, '30 minutes'],
  [3_600_000, '1 hour'],
  [90_000_000, '25 hours'],
  [172_800_000, '2 days'],
])('%i ms are written as %s', (ms, words) => {
  expect(durationWords(ms)).toBe(words)
})
