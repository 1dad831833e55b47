import { describe, expect, test } from 'vitest'
import { nextStart, nextStarts, requireTiming } from '../../control-plane/src/schedules/times.js'

const NOW = Date.UTC(2026, 0, 15, 12, 0)
const MINUTE = 60_000
const at = (cron: string, timeZone = 'UTC') => ({ cron, timeZone, onceAt: null })
const once = (onceAt: number) => ({ cron: null, timeZone: 'UTC', onceAt })

describe('the next start', () => {
  test.each([
    ['*/15 * * * *', [15, 30, 45]],
    ['0 13 * * *', [60, 60 + 24 * 60, 60 + 48 * 60]],
  ])('of %s is after the moment, not at it', (cron, minutes) => {
    expect(nextStarts(at(cron), NOW, 3)).toEqual(minutes.map((count) => NOW + count * MINUTE))
    expect(nextStart(at(cron), NOW)).toBe(NOW + (minutes[0] ?? 0) * MINUTE)
  })

  test('once is there until its moment', () => {
    expect([nextStart(once(NOW), NOW - 1), nextStart(once(NOW), NOW)]).toEqual([NOW, null])
    expect(nextStarts(once(NOW), NOW - 1, 5)).toEqual([NOW])
  })

  test.each([
    // Monday to Friday, as other programs write it.
    ['0 0 ? * MON-FRI', [15, 18, 19, 20, 21].map((day) => Date.UTC(2026, 0, day + 1))],
    // Both parts for days, one of them with `*`: a day has to be in both.
    [
      '0 0 */2 * 1',
      [19, 2 + 31, 9 + 31, 16 + 31]
        .map((day) => Date.UTC(2026, 0, day))
        .filter((time) => new Date(time).getUTCDate() % 2 === 1),
    ],
  ])('of %s is on the days that cron means', (cron, starts) => {
    expect(nextStarts(at(cron), NOW, starts.length)).toEqual(starts)
  })

  test('is not in the past in the second pass of the hour that comes twice', () => {
    const second = Date.UTC(2027, 9, 31, 1, 10)
    expect(nextStarts(at('*/15 * * * *', 'Europe/Berlin'), second, 2)).toEqual([
      second + 5 * MINUTE,
      second + 20 * MINUTE,
    ])
    expect(nextStart(at('15 2 * * *', 'Europe/Berlin'), second)).toBe(Date.UTC(2027, 10, 1, 1, 15))
  })

  test('is at the time of the zone', () => {
    expect(nextStart(at('0 14 * * *', 'Europe/Berlin'), NOW)).toBe(NOW + 60 * MINUTE)
  })
})

describe('a schedule', () => {
  test.each([at('0 5 * * *'), at('*/5 1-3 * jan,mar mon#1'), at(' 0  5 * * * '), once(NOW + 1)])(
    '%j can start',
    (timing) => {
      expect(() => requireTiming(timing, NOW)).not.toThrow()
    },
  )

  test.each([
    [{ cron: null, timeZone: 'UTC', onceAt: null }, 'schedule_time', 'A schedule has either cron or at'],
    [{ cron: '0 5 * * *', timeZone: 'UTC', onceAt: NOW + 1 }, 'schedule_time', 'A schedule has either cron or at'],
    [at('0 5 * * *', 'Nowhere/City'), 'schedule_time_zone', 'time_zone must be the name of a time zone'],
    [at('0 0 5 * * *'), 'schedule_cron', 'cron has five parts'],
    [at('0 5 * *'), 'schedule_cron', 'cron has five parts'],
    [at('@daily'), 'schedule_cron', 'Write 0 0 * * * for @daily'],
    [at('CRON_TZ=UTC 0 2 * * *'), 'schedule_cron', 'Give the time zone as time_zone'],
    [at('0 ? * * *'), 'schedule_cron', 'stands only for the day'],
    [at('H 2 * * *'), 'schedule_cron', 'no random times'],
    [at('99 5 * * *'), 'schedule_cron', '"99" cannot stand as the minute (0 to 59)'],
    [at('5/15 * * * *'), 'schedule_cron', 'Write 5-59/15'],
    [at('0 24 * * *'), 'schedule_cron', '"24" cannot stand as the hour (0 to 23)'],
    [at('0 0 C * *'), 'schedule_cron', '"C" cannot stand as the day of the month (1 to 31)'],
    [at('0 0 31 2 *'), 'schedule_never', 'There is no day at which this cron expression starts anything'],
    [once(NOW), 'schedule_never', 'at lies in the past'],
  ])('%j is refused', (timing, code, words) => {
    const refusal = expect.objectContaining({ code, message: expect.stringContaining(words) as string }) as Error
    expect(() => requireTiming(timing, NOW)).toThrow(refusal)
  })
})
