import { describe, expect, test } from 'vitest'
import type { DateType } from '../../../control-plane/src/forms/fields/field.js'
import { isDateValue } from '../../../control-plane/src/forms/values/read-datetime.js'
import { check, formOf } from './check.js'

const MONDAY = '2026-03-02T00:00:00.000Z'
const SUNDAY = '2026-03-08T23:59:59.999Z'

describe('a value of a date field', () => {
  test.each<[DateType | null, readonly unknown[], readonly unknown[]]>([
    [
      'date',
      ['2026-03-09', '2024-02-29', '2026-03-09T11:22:33.444Z'],
      [
        '2026-02-29',
        '2026-13-01',
        '2026-3-9',
        '0000-01-01',
        '09.03.2026',
        '2026-03-09T11:22',
        '2026-02-30T11:22Z',
        20260309,
      ],
    ],
    [
      'datetime',
      ['2026-03-09T14:00:00', '2026-03-09 14:00', '2026-03-09T14:00:00.123Z', '2026-03-09T14:00:00+01:00'],
      [
        '2026-03-09',
        '2026-03-09T24:00:00',
        '2026-03-09T14:60:00',
        '2026-02-30T14:00:00',
        '2026-03-09T14:00:00+24:00',
        1,
      ],
    ],
    [
      'time',
      ['14:30', '14:30:59', { hours: 14, minutes: 30 }, { hours: 0, minutes: 0, seconds: 0 }],
      [
        '24:00',
        '1:30',
        'noon',
        { hours: 24, minutes: 0 },
        { hours: 1.5, minutes: 0 },
        { hours: 1 },
        { hours: '1', minutes: 0 },
      ],
    ],
    [
      'month',
      ['2026-03', { month: 0, year: 2026 }, { month: 11, year: 2026 }],
      ['2026-13', '2026', { month: 12, year: 2026 }, { month: 1 }, { month: 1, year: 2026, day: 1 }, null],
    ],
    ['year', ['2026', 2026], ['26', '0000', 0, 20260, 2026.5, '2026-01', { year: 2026 }]],
    [
      'week',
      ['2026-W01', '2026-W53', [MONDAY, SUNDAY], [MONDAY, '2026-03-08T00:00:00.000Z']],
      [
        '2026-W00',
        '2025-W53',
        '2026-W54',
        [SUNDAY, MONDAY],
        [MONDAY],
        [MONDAY, MONDAY],
        [MONDAY, SUNDAY, 'x'],
        [MONDAY, 1],
      ],
    ],
    [null, ['2026-03-09', '2026-03-09T11:22:33.444Z'], ['14:30', '2026', {}, []]],
  ])('%s', (dateType, good, bad) => {
    expect(good.filter((value) => !isDateValue(dateType, value))).toEqual([])
    expect(bad.filter((value) => isDateValue(dateType, value))).toEqual([])
  })

  test('names the expected form; a missing value and an empty text are not an error', async () => {
    const form = formOf([{ name: 'day', type: 'datetime', dateType: 'date', label: 'Day' }])
    const { details } = await check(form, { day: 'soon' })
    expect(details.invalid).toEqual(['day'])
    expect(details.validationErrors.day).toEqual([
      { type: 'type', description: 'Day must be a date such as 2026-03-01' },
    ])
    for (const day of [undefined, null, '']) expect((await check(form, { day })).details.invalid).toEqual([])
    const required = formOf([{ name: 'day', type: 'datetime', dateType: 'date', required: true }])
    for (const day of [null, '']) expect((await check(required, { day })).details.missing).toEqual(['day'])
  })

  test('a default is read like a sent value', async () => {
    const form = (value: unknown) =>
      formOf([{ name: 'text' }, { name: 'day', type: 'datetime', dateType: 'date', default: value }])
    expect((await check(form('2026-03-01'), {})).extravars.day).toBe('2026-03-01')
    expect((await check(form('$(text)'), { text: '; id' })).details.invalid).toEqual(['day'])
  })
})
