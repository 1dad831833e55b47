import { Cron } from 'croner'
import { InvalidInputError } from '../errors.js'

/** When a schedule starts: at the times of a cron expression, or once. */
export interface Timing {
  readonly cron: string | null
  readonly timeZone: string
  /** In milliseconds since the epoch. */
  readonly onceAt: number | null
}

/** Five parts: minute, hour, day of the month, month, day of the week. There is no part for seconds. */
const FIVE_PARTS = /^\s*(?:[0-9A-Za-z*,/#?+-]+\s+){4}[0-9A-Za-z*,/#?+-]+\s*$/

/**
 * The first start after a moment, in milliseconds since the epoch. Null: there is none.
 *
 * In spring the clocks leave out an hour. A start in that hour happens an hour later. In autumn an hour comes twice. A start
 * at one time of the day happens only when that time comes first.
 */
export function nextStart(timing: Timing, after: number): number | null {
  return nextStarts(timing, after, 1)[0] ?? null
}

/** The next `count` starts after a moment, in milliseconds since the epoch. Fewer when there are no more. */
export function nextStarts({ cron, timeZone, onceAt }: Timing, after: number, count: number): number[] {
  if (cron === null) return onceAt !== null && onceAt > after ? [onceAt] : []
  return new Cron(cron, { timezone: timeZone, mode: '5-part', paused: true })
    .nextRuns(count, new Date(after))
    .map((start) => start.getTime())
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
  if (cron !== null && !FIVE_PARTS.test(cron)) {
    throw new InvalidInputError(
      'schedule_cron',
      'cron has five parts: minute, hour, day of the month, month, day of the week',
    )
  }
  let first: number | null
  try {
    first = nextStart(timing, now)
  } catch (error) {
    throw new InvalidInputError('schedule_cron', 'cron is not an expression that can be read', undefined, {
      cause: error,
    })
  }
  if (first !== null) return
  throw new InvalidInputError(
    'schedule_never',
    cron === null ? 'at lies in the past' : 'There is no day at which this cron expression starts anything',
  )
}

function requireTimeZone(timeZone: string): void {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
  } catch {
    throw new InvalidInputError(
      'schedule_time_zone',
      'time_zone must be the name of a time zone, such as Europe/Berlin or UTC',
    )
  }
}
