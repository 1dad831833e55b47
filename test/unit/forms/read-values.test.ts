import { describe, expect, test } from 'vitest'
import { type FieldInFile, parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import {
  type Resolved,
  fillText,
  findPlaceholders,
  missingOf,
  resolvePlaceholder,
} from '../../../control-plane/src/forms/values/placeholders.js'
import { isDateValue } from '../../../control-plane/src/forms/values/read-datetime.js'
import { readValue } from '../../../control-plane/src/forms/values/read-value.js'

const read = (field: Partial<FieldInFile>, sent: unknown) =>
  readValue(parseField({ name: 'f', label: 'F', ...field }), sent)
const type = (description: string) => ({ ok: false, type: 'type', description })
const DIGITS = 'F must be a number that can be kept digit by digit'

describe('a sent value is read', () => {
  test.each<[Partial<FieldInFile>, unknown, unknown]>([
    [{ type: 'text' }, undefined, undefined],
    [{ type: 'text' }, null, undefined],
    [{ type: 'checkbox' }, null, false],
    [{ type: 'text' }, 'a', 'a'],
    [{ type: 'textarea' }, 5, '5'],
    [{ type: 'password' }, true, 'true'],
    [{ type: 'number' }, 5, 5],
    [{ type: 'number' }, ' +5.50 ', 5.5],
    [{ type: 'number' }, '1e3', 1000],
    [{ type: 'number' }, '.5', 0.5],
    [{ type: 'number' }, '  ', undefined],
    [{ type: 'checkbox' }, true, true],
    [{ type: 'checkbox' }, '', false],
    [{ type: 'checkbox' }, 'true', true],
    [{ type: 'checkbox' }, 'false', false],
    [{ type: 'yaml' }, '{a: [1]}', { a: [1] }],
    [{ type: 'yaml' }, { a: 1 }, { a: 1 }],
    [{ type: 'yaml' }, '  ', undefined],
    [{ type: 'yaml' }, '~', undefined],
    [{ type: 'yaml' }, 'd: 2026-03-04', { d: '2026-03-04' }],
    [{ type: 'yaml' }, 'a: &x {b: 1}\nc: {<<: *x}', { a: { b: 1 }, c: { b: 1 } }],
    [{ type: 'datetime', dateType: 'time' }, '', ''],
    [{ type: 'datetime', dateType: 'time' }, '14:30', '14:30'],
    [{ type: 'html' }, 'a', undefined],
  ])('by a field %j: %j is %j', (field, sent, value) => {
    expect(read(field, sent)).toEqual({ ok: true, value })
  })

  test.each<[Partial<FieldInFile>, unknown, unknown]>([
    [{ type: 'text' }, {}, type('F must be text')],
    [{ type: 'password' }, ['a'], type('F must be text')],
    [{ type: 'number' }, 'five', type('F must be a number')],
    [{ type: 'number' }, '0x10', type('F must be a number')],
    [{ type: 'number' }, Infinity, type('F must be a number')],
    [{ type: 'number' }, true, type('F must be a number')],
    [{ type: 'number' }, '9007199254740993', type(DIGITS)],
    [{ type: 'checkbox' }, 'yes', type('F must be true or false')],
    [{ type: 'checkbox' }, 1, type('F must be true or false')],
    [{ type: 'yaml' }, 'a: [', { ok: false, type: 'validYaml', description: 'F must be valid YAML' }],
    [
      { type: 'yaml', yamlError: { description: 'write YAML' } },
      'a: [',
      { ok: false, type: 'validYaml', description: 'write YAML' },
    ],
    [{ type: 'datetime', dateType: 'month' }, '2026-13', type('F must be a month such as 2026-03')],
    [{ type: 'datetime' }, 'today', type('F must be a date such as 2026-03-01')],
  ])('by a field %j: %j is refused', (field, sent, refusal) => {
    expect(read(field, sent)).toEqual(refusal)
  })

  test('as YAML with a number that would change is refused with that number', () => {
    expect(read({ type: 'yaml' }, 'a: 9007199254740993')).toMatchObject({
      ok: false,
      type: 'type',
      description: expect.stringContaining('line 1: the number 9007199254740993 cannot be kept') as string,
    })
  })
})

describe('a value of a date picker', () => {
  const DAY = 86_400_000
  const HOUR = 3_600_000
  const week = (length: number, first = '2026-03-02T00:00:00.000Z') => [
    first,
    new Date(Date.parse('2026-03-02T00:00:00.000Z') + length).toISOString(),
  ]

  test.each([6 * DAY - HOUR, 6 * DAY, 7 * DAY, 7 * DAY + HOUR])('a week may last %d ms', (length) => {
    expect(isDateValue('week', week(length))).toBe(true)
  })

  test.each([6 * DAY - HOUR - 1, 7 * DAY + HOUR + 1, 0])('a week cannot last %d ms', (length) => {
    expect(isDateValue('week', week(length))).toBe(false)
  })

  test('a week has two real instants', () => {
    expect(isDateValue('week', week(7 * DAY, '2026-02-30T00:00:00.000Z'))).toBe(false)
    expect(isDateValue('week', [...week(7 * DAY)].slice(0, 1))).toBe(false)
    expect(isDateValue('week', [...week(7 * DAY), 'x'])).toBe(false)
    expect(isDateValue('week', [week(7 * DAY)[0], 5])).toBe(false)
  })

  test.each<['time' | 'month' | 'year', unknown, boolean]>([
    ['time', { hours: 0, minutes: 0, seconds: 0 }, true],
    ['time', { hours: 23, minutes: 59, seconds: 59 }, true],
    ['time', { hours: 1, minutes: 2 }, true],
    ['time', { hours: 24, minutes: 0 }, false],
    ['time', { hours: 0, minutes: 60 }, false],
    ['time', { hours: 0, minutes: 0, seconds: 60 }, false],
    ['time', { hours: -1, minutes: 0 }, false],
    ['time', { hours: 1.5, minutes: 0 }, false],
    ['time', { hours: 1 }, false],
    ['time', { minutes: 1 }, false],
    ['time', { hours: 1, minutes: 2, zone: 'x' }, false],
    ['time', null, false],
    ['month', { month: 0, year: 1 }, true],
    ['month', { month: 11, year: 9999 }, true],
    ['month', { month: 12, year: 2026 }, false],
    ['month', { month: -1, year: 2026 }, false],
    ['month', { month: 1, year: 0 }, false],
    ['month', { month: 1, year: 10_000 }, false],
    ['month', { month: 1 }, false],
    ['month', { year: 2026 }, false],
    ['month', { month: 1, year: 2026, day: 1 }, false],
    ['month', null, false],
    ['year', 1, true],
    ['year', 9999, true],
    ['year', 0, false],
    ['year', 10_000, false],
    ['year', '2026', true],
    ['year', 'soon', false],
  ])('a %s %j is one: %j', (dateType, value, holds) => {
    expect(isDateValue(dateType, value)).toBe(holds)
  })

  test('a year has 53 weeks when it begins or ends with a Thursday', () => {
    const years = [2020, 2024, 2025, 2026, 2032]
    expect(years.filter((year) => isDateValue('week', `${year}-W53`))).toEqual([2020, 2026, 2032])
    expect(isDateValue('week', '2025-W52')).toBe(true)
    expect(isDateValue('week', 5)).toBe(false)
  })
})

describe('placeholders of a text', () => {
  const VALUES: Readonly<Record<string, Resolved>> = {
    a: { known: true, value: 'x' },
    n: { known: true, value: 5 },
    list: { known: true, value: [1] },
    none: { known: true, value: null },
    slow: { known: false, value: undefined, isAsking: true },
  }
  const resolve = ([first = '']: readonly (string | number)[]) => VALUES[first] ?? { known: false, value: undefined }

  test('are found with their places', () => {
    expect(findPlaceholders('a $( b.c ) $(d) $() $(e(')).toEqual([
      { start: 2, end: 10, inside: 'b.c', whole: '$( b.c )' },
      { start: 11, end: 15, inside: 'd', whole: '$(d)' },
    ])
  })

  test('are replaced by texts, and other values by JSON', () => {
    expect(fillText('<$(a)|$(n)|$(list)>', resolve)).toMatchObject({ complete: true, text: '<x|5|[1]>' })
    expect(fillText('nothing', resolve)).toMatchObject({ complete: true, text: 'nothing' })
  })

  test('without a value stay, and the first that waits for a source is named before others', () => {
    const filled = (text: string) => fillText(text, resolve)
    expect(filled('<$(gone)|$(a)|$(none)>')).toEqual({
      complete: false,
      text: '<$(gone)|x|$(none)>',
      missing: { inside: 'gone', isAsking: false },
    })
    expect(filled('$(gone) $(slow) $(none)')).toMatchObject({ missing: { inside: 'slow', isAsking: true } })
    expect(filled('$(none)')).toMatchObject({ missing: { inside: 'none', isAsking: false } })
    const slow = missingOf(null, 'one', { known: false, value: undefined, isAsking: true })
    expect(missingOf(slow, 'two', { known: false, value: undefined, isAsking: true })).toBe(slow)
  })

  test('that are no path, or have no value, are not known', () => {
    expect(resolvePlaceholder('a..b', resolve)).toEqual({ known: false, value: undefined })
    expect(resolvePlaceholder('none', resolve)).toEqual({ known: false, value: null })
    expect(resolvePlaceholder('a', resolve)).toEqual({ known: true, value: 'x' })
    const asked: unknown[] = []
    const undefinedHere = (path: unknown): Resolved => {
      asked.push(path)
      return { known: true, value: undefined }
    }
    expect(resolvePlaceholder('a[1].b', undefinedHere)).toEqual({ known: false, value: undefined })
    expect(asked).toEqual([['a', 1, 'b']])
  })
})
