import { Cron } from 'croner'
import { InvalidInputError } from '../errors.js'

/** When a schedule starts: at the times of a cron expression, or once. */
export interface Timing {
  readonly cron: string | null
  readonly timeZone: string
  /** In milliseconds since the epoch. */
  readonly onceAt: number | null
}

/** Five parts: minute, hour, day of the month, month, day of the week. Seconds are not for starting jobs. */
const FIVE_PARTS = /^\s*(?:[0-9A-Za-z*,/#?+-]+\s+){4}[0-9A-Za-z*,/#?+-]+\s*$/

/**
 * The first start after a moment, in milliseconds since the epoch; null: there is none.
 *
 * A time that the clocks leave out in spring is made up for an hour later. A time of a day that comes twice in autumn counts
 * the first time only.
 */
export function nextStart(timing: Timing, after: number): number | null {
  return nextStarts(timing, after, 1)[0] ?? null
}

/** The same for the next `count` starts. */
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
    throw new InvalidInputError('schedule_time_zone', 'time_zone is no time zone, such as Europe/Berlin or UTC')
  }
}
