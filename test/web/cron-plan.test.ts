import fc from 'fast-check'
import { expect, test } from 'vitest'
import { nextStarts } from '../../control-plane/src/schedules/times.js'
import {
  EVEN_MINUTES,
  type Plan,
  cronOf,
  cronText,
  planOf,
} from '../../control-plane/web/src/pages/schedules/cron-plan.js'
import { instantOf, wallTimeOf } from '../../control-plane/web/src/pages/schedules/zone-time.js'

/** What people choose as times of schedules is the expression that the control plane starts by. */
const RUNS = { seed: Number(process.env.CRON_SEED ?? Date.now() % 1_000_000), numRuns: 200 }
const AFTER = Date.UTC(2026, 10, 28, 13, 37)
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu'] as const

const time = fc
  .tuple(fc.nat(23), fc.nat(59))
  .map((parts) => parts.map((part) => String(part).padStart(2, '0')).join(':'))
const plans: fc.Arbitrary<Plan> = fc.oneof(
  fc.record({ kind: fc.constant('minutes' as const), every: fc.constantFrom(...EVEN_MINUTES) }),
  fc.record({ kind: fc.constantFrom('day' as const, 'weekdays' as const), time }),
  fc.record({
    kind: fc.constant('week' as const),
    days: fc.subarray([0, 1, 2, 3, 4, 5, 6], { minLength: 1 }),
    time,
  }),
  fc.record({
    kind: fc.constant('month' as const),
    day: fc.oneof(fc.integer({ min: 1, max: 31 }), fc.constant('L' as const)),
    time,
  }),
)

/** Whether a time of the clock in UTC is one that was chosen. */
function fits(plan: Plan, at: Date): boolean {
  if (plan.kind === 'cron') return false
  if (plan.kind === 'minutes') return at.getUTCMinutes() % plan.every === 0
  if (at.toISOString().slice(11, 16) !== plan.time) return false
  const [day, weekday] = [at.getUTCDate(), at.getUTCDay()]
  if (plan.kind === 'weekdays') return weekday >= 1 && weekday <= 5
  if (plan.kind === 'week') return plan.days.includes(weekday)
  if (plan.kind === 'month') {
    return plan.day === 'L' ? new Date(at.getTime() + 86_400_000).getUTCDate() === 1 : day === plan.day
  }
  return true
}

test('an expression of the chosen times is read as the same choice, and starts at these times only', () => {
  fc.assert(
    fc.property(plans, (plan) => {
      const cron = cronOf(plan)
      expect(planOf(cron)).toEqual(plan)
      const starts = nextStarts({ cron, timeZone: 'UTC', onceAt: null }, AFTER, 5).map((at) => new Date(at))
      expect(starts).toHaveLength(5)
      expect(starts.filter((at) => !fits(plan, at))).toEqual([])
    }),
    RUNS,
  )
})

test('what cannot be chosen stays the expression that it is', () => {
  for (const cron of ['*/7 * * * *', '0 6 15W * *', '0 6 1 * 1', '0 6 * 2 *', '61 * * * *', '* * *', '0 6 0 * *', '']) {
    expect(planOf(cron)).toEqual({ kind: 'cron', text: cron })
    expect(cronOf(planOf(cron))).toBe(cron)
  }
})

test.each([
  ['30 6 * * 1-5', 'every weekday at 06:30'],
  ['0 * * * *', 'every hour, on the hour'],
  ['5 14 * * 2,0', 'every Tuesday and Sunday at 14:05'],
  ['0 2 L * *', 'on the last day of every month at 02:00'],
  ['*/20 8-18 * 6 *', 'when the minute is 0, 20 and 40, the hour is 8 to 18 and the month is June'],
  ['0 6 1 * 1', 'when the minute is 0, the hour is 6 and the day of the month is 1 or the day of the week is Monday'],
  ['0 6 */2 * 1', 'when the minute is 0, the hour is 6, the day of the month is */2 and the day of the week is Monday'],
])('%s means: %s', (cron, text) => {
  expect(cronText(cron)).toBe(text)
})

test('a time on the wall of a zone is the moment at which the clock there shows it', () => {
  const moment = fc.integer({ min: Date.UTC(2020, 0), max: Date.UTC(2040, 0) }).map((at) => at - (at % 60_000))
  fc.assert(
    fc.property(moment, fc.constantFrom(...ZONES), (at, zone) => {
      const wall = wallTimeOf(at, zone)
      const found = instantOf(wall, zone) ?? 0
      expect(wallTimeOf(found, zone)).toBe(wall)
      // In autumn a time comes twice. The first one is meant.
      expect(found).toBeLessThanOrEqual(at)
    }),
    RUNS,
  )
  // Clocks leave out the hour from two to three: the time comes an hour later by the clock.
  expect(instantOf('2026-03-29T02:30', 'Europe/Berlin')).toBe(Date.UTC(2026, 2, 29, 1, 30))
  expect(instantOf('', 'UTC')).toBeNull()
})
