import { describe, expect, test } from 'vitest'
import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
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

test('the time between two looks counts, unless they are far apart', () => {
  const job = { limitMs: 20_000, ranMs: 8000, countedAt: 100_000 }
  expect(countTime({ ...job, countedAt: null }, 500_000)).toEqual({ ranMs: 8000, isOver: false })
  expect(countTime(job, 101_000)).toBeNull()
  expect(countTime(job, 99_000)).toBeNull()
  expect(countTime(job, 106_000)).toEqual({ ranMs: 14_000, isOver: false })
  expect(countTime(job, 160_000)).toEqual({ ranMs: 8000, isOver: false })
  expect(countTime({ ...job, ranMs: 19_000 }, 101_000)).toEqual({ ranMs: 20_000, isOver: true })
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
