import { describe, expect, test } from 'vitest'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { concurrencyOf, timeoutOf } from '../../../control-plane/src/forms/parse/limits.js'
import { countTime, durationWords } from '../../../control-plane/src/jobs/limits/count-time.js'

const parse = (...lines: string[]) =>
  parseFormFile('f.yaml', ['name: f', 'type: ansible', 'playbook: x.yml', ...lines].join('\n'))

describe('the limits of a form', () => {
  test.each([
    ['timeout: 90', 90_000],
    ['timeout: 30m', 1_800_000],
    ['timeout: "2h"', 7_200_000],
  ])('%s', (line, timeoutMs) => {
    expect(parse(line).forms[0]?.form).toMatchObject({ timeoutMs, concurrency: null })
  })

  test('by default a group has one place, and other jobs wait', () => {
    expect(parse('concurrency: {group: deploy}').forms[0]?.form).toMatchObject({
      timeoutMs: null,
      concurrency: { group: 'deploy', limit: 1, on: 'queue' },
    })
  })

  test.each([
    ['timeout: soon', 4, '"soon"'],
    ['timeout: 0', 4, 'not 0'],
    ['timeout: 1.5', 4, 'not 1.5'],
    ['timeout: 400d', 4, 'at most 365d'],
    ['concurrency: deploy', 4, 'must be an object'],
    ['concurrency:\n  limit: 2', 5, 'concurrency.group'],
    ['concurrency:\n  group: a\n  limit: 0', 6, 'not 0'],
    ['concurrency:\n  group: a\n  on: wait', 6, 'queue or refuse, not "wait"'],
    ['concurrency:\n  group: $(host)', 5, 'placeholder'],
    ['concurrency:\n  group: a\n  limits: 2', 6, 'is unknown'],
  ])('%j is refused with its line and its value', (text, line, words) => {
    const { forms, errors } = parse(text)
    expect(forms).toEqual([])
    expect(errors).toMatchObject([{ form: 'f', line }])
    expect(errors[0]?.reason).toContain(words)
  })
})

const YEAR_MS = 365 * 86_400_000

test('a time limit goes from a second to a year; without one a job may run for ever', () => {
  expect([1, '1s', '365d', undefined, null].map(timeoutOf)).toEqual([1000, 1000, YEAR_MS, null, null])
  for (const given of [0, -1, '366d', '31536001', 0.5, true, ['1h'], { h: 1 }, '', 'soon']) {
    expect(() => timeoutOf(given)).toThrow(`at most 365d, not ${JSON.stringify(given)}`)
  }
})

describe('the group of a form', () => {
  test('may have a name of 200 characters, and from 1 to 1000 places', () => {
    const group = 'g'.repeat(200)
    expect(concurrencyOf({ group, limit: 1 })).toEqual({ group, limit: 1, on: 'queue' })
    expect(concurrencyOf({ group: 'g', limit: 1000, on: 'refuse' })).toEqual({ group: 'g', limit: 1000, on: 'refuse' })
    expect([undefined, null].map(concurrencyOf)).toEqual([null, null])
  })

  test.each<[unknown, string]>([
    [[], 'concurrency must be an object with group, limit and on, not []'],
    [5, 'concurrency must be an object with group, limit and on, not 5'],
    [{}, 'concurrency.group must be a text of at most 200 characters'],
    [{ group: '' }, 'concurrency.group must be a text of at most 200 characters, not ""'],
    [{ group: '  ' }, 'concurrency.group must be a text of at most 200 characters, not "  "'],
    [{ group: 7 }, 'concurrency.group must be a text of at most 200 characters, not 7'],
    [{ group: 'g'.repeat(201) }, 'concurrency.group must be a text of at most 200 characters'],
    [{ group: 'a$(b)' }, 'concurrency.group cannot hold a placeholder, it is a fixed text, not "a$(b)"'],
    [{ group: 'g', limit: 0 }, 'concurrency.limit must be a whole number from 1 to 1000, not 0'],
    [{ group: 'g', limit: 1001 }, 'concurrency.limit must be a whole number from 1 to 1000, not 1001'],
    [{ group: 'g', limit: 1.5 }, 'concurrency.limit must be a whole number from 1 to 1000, not 1.5'],
    [{ group: 'g', limit: '2' }, 'concurrency.limit must be a whole number from 1 to 1000, not "2"'],
    [{ group: 'g', on: 'wait' }, 'concurrency.on must be queue or refuse, not "wait"'],
    [{ group: 'g', more: 1 }, 'concurrency.more is unknown: there are group, limit and on, not 1'],
  ])('%j is refused', (given, reason) => {
    expect(() => concurrencyOf(given)).toThrow(reason)
  })

  test('without a name is told so, and no value is shown that nobody gave', () => {
    expect(() => concurrencyOf({ limit: 2 })).toThrow(/characters$/)
  })
})

test('the time between two looks counts, unless they are far apart', () => {
  const job = { limitMs: 20_000, ranMs: 8000, countedAt: 100_000 }
  expect(countTime({ ...job, countedAt: null }, 500_000)).toEqual({ ranMs: 8000, isOver: false })
  expect(countTime(job, 101_000)).toBeNull()
  expect(countTime(job, 99_000)).toBeNull()
  expect(countTime(job, 106_000)).toEqual({ ranMs: 14_000, isOver: false })
  expect(countTime(job, 160_000)).toEqual({ ranMs: 8000, isOver: false })
  expect(countTime({ ...job, ranMs: 19_000 }, 101_000)).toEqual({ ranMs: 20_000, isOver: true })
})

test.each([
  // After 5 seconds the time is stored, after more than 10 it does not count, and a job ends exactly at its limit.
  [4999, null],
  [5000, { ranMs: 5000, isOver: false }],
  [10_000, { ranMs: 10_000, isOver: false }],
  [10_001, { ranMs: 0, isOver: false }],
  [0, null],
  [-1, null],
])('a look %i ms after the one before', (passed, counted) => {
  expect(countTime({ limitMs: 60_000, ranMs: 0, countedAt: 100_000 }, 100_000 + passed)).toEqual(counted)
})

test.each([
  [999, null],
  [1000, { ranMs: 60_000, isOver: true }],
  [1001, { ranMs: 60_001, isOver: true }],
])('of a job that has one second left is made %i ms later', (passed, counted) => {
  expect(countTime({ limitMs: 60_000, ranMs: 59_000, countedAt: 0 }, passed)).toEqual(counted)
})

test.each([
  [1, '0 seconds'],
  [500, '1 second'],
  [59_000, '59 seconds'],
  [60_000, '1 minute'],
  [61_000, '61 seconds'],
  [3_540_000, '59 minutes'],
  [3_660_000, '61 minutes'],
  [7_200_000, '2 hours'],
  [86_400_000, '1 day'],
  [90_000_000, '25 hours'],
])('%i ms are written as %s', (ms, words) => {
  expect(durationWords(ms)).toBe(words)
})

test('a time limit is written in its largest unit', () => {
  expect([1000, 90_000, 1_800_000, 3_600_000, 172_800_000].map(durationWords)).toEqual([
    '1 second',
    '90 seconds',
    '30 minutes',
    '1 hour',
    '2 days',
  ])
})
