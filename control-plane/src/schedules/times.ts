import { Temporal } from 'temporal-polyfill'
import { InvalidInputError } from '../errors.js'
import { type CronExpression, readCron } from './cron-expression.js'

/** When a schedule starts: at the times of a cron expression, or once. */
export interface Timing {
  readonly cron: string | null
  readonly timeZone: string
  /** In milliseconds since the epoch. */
  readonly onceAt: number | null
}

/** How near a change of clocks counts, in milliseconds. Samoa has once left out a whole day. */
const NEAR_MS = 26 * 60 * 60_000

/** The first start after a moment, in milliseconds since the epoch. Null: there is none. */
export function nextStart(timing: Timing, after: number): number | null {
  return nextStarts(timing, after, 1)[0] ?? null
}

/** The next `count` starts after a moment, in milliseconds since the epoch. Fewer when there are no more. */
export function nextStarts({ cron, timeZone, onceAt }: Timing, after: number, count: number): number[] {
  if (cron === null) return onceAt !== null && onceAt > after ? [onceAt] : []
  const expression = readCron(cron)
  const starts: number[] = []
  for (let from = after; starts.length < count;) {
    const next = firstAfter(expression, timeZone, from)
    if (next === null) break
    starts.push(next)
    from = next
  }
  return starts
}

/**
 * The first start after a moment. Far from every change of clocks it is the next time of the expression. Around a change,
 * times on the wall may come in another order than they happen, so all that are near are looked at.
 */
function firstAfter(expression: CronExpression, timeZone: string, after: number): number | null {
  const wallNow = wallTimeAt(after, timeZone)
  let best = Infinity
  let end = Infinity
  for (
    let wall = expression.nextAfter(wallNow - changeNear(after, timeZone));
    wall !== null && wall <= end;
    wall = expression.nextAfter(wall)
  ) {
    for (const start of startsAt(wall, timeZone, expression.followsElapsedTime)) {
      if (start > after) best = Math.min(best, start)
    }
    if (best !== Infinity && end === Infinity) end = wall + changeNear(best, timeZone)
  }
  return best === Infinity ? null : best
}

/**
 * The moments that belong to a time on the wall. In spring the clocks leave out an hour: a time in it comes an hour later by
 * the clock. In autumn an hour comes twice: a time of the day is the first one; what follows the time that passes has both.
 */
function startsAt(wallTime: number, timeZone: string, bothTimes: boolean): number[] {
  const wall = Temporal.Instant.fromEpochMilliseconds(wallTime).toZonedDateTimeISO('UTC').toPlainDateTime()
  const first = wall.toZonedDateTime(timeZone, { disambiguation: 'compatible' })
  if (!bothTimes) return [first.epochMilliseconds]
  const second = wall.toZonedDateTime(timeZone, { disambiguation: 'later' })
  return [first.epochMilliseconds, second.epochMilliseconds]
}

/** What a clock on the wall shows at a moment, as milliseconds since its own epoch. */
function wallTimeAt(time: number, timeZone: string): number {
  return time + offsetAt(time, timeZone)
}

function offsetAt(time: number, timeZone: string): number {
  return Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).offsetNanoseconds / 1e6
}

/** By how much the clocks are changed near a moment, in milliseconds: so far times on the wall may be out of order. */
function changeNear(time: number, timeZone: string): number {
  return Math.abs(offsetAt(time - NEAR_MS, timeZone) - offsetAt(time + NEAR_MS, timeZone))
}

/**
 * Checks that a schedule can start at least once after now. @throws InvalidInputError that names what is wrong
 */
export function requireTiming(timing: Timing, now: number): void {
  const { cron, timeZone, onceAt } = timing
  if ((cron === null) === (onceAt === null)) {
    throw new InvalidInputError('schedule_time', 'A schedule has either cron or at')
  }
  requireTimeZone(timeZone)
  if (nextStart(timing, now) !== null) return
  throw new InvalidInputError(
    'schedule_never',
    cron === null ? 'at lies in the past' : 'There is no day at which this cron expression starts anything',
  )
}

function requireTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
    Temporal.Now.zonedDateTimeISO(timeZone)
  } catch {
    throw new InvalidInputError(
      'schedule_time_zone',
      'time_zone must be the name of a time zone, such as Europe/Berlin or UTC',
    )
  }
}
