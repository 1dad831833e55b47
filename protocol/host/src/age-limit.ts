/**
 * The rule for everything that is deleted for its age, in both programs. People and networks set the wall clock of a
 * host, to right times and to wrong ones, and what was deleted does not come back. So the wall clock alone decides
 * nothing. A program also counts its work by a clock that nobody sets. For each period of its work it stores which
 * times the wall clock showed.
 *
 * What is kept for 30 days goes when both is true:
 * - by the wall clock it is older than 30 days;
 * - its time is earlier than every time that the wall clock has shown during the last 30 days of work.
 *
 * So a clock that runs a year ahead deletes nothing early: a month ago it still showed the right time. A clock that is
 * behind has shown an early time, and nothing is deleted until that is long ago, too. The time in which the program
 * did not work does not count, so a start never deletes much at once. It only makes things stay longer.
 */

/**
 * How much earlier than the wall clock a stored time may be, in milliseconds. The clock of files is a little behind, and
 * between two looks at the wall clock it may go back unseen.
 */
const SLACK_MS = 60_000

declare const decided: unique symbol

/**
 * A time of the wall clock, in milliseconds: what has an earlier one is old enough to be deleted. Only
 * {@link ageLimitOf} makes one, so that no deletion can forget the rule.
 */
export type AgeLimit = number & { readonly [decided]: true }

/** What is stored about the wall clock. A period is numbered by the work before it. */
export interface ShownTimes {
  /** The first period of which something is stored; null: there is none. */
  readonly oldest: number | null
  /** The earliest time that the wall clock showed in the periods that count, in milliseconds; null: none is stored. */
  readonly earliest: number | null
}

/**
 * The first period that counts for what is kept for `keepMs`.
 * @param work the work so far, by a clock that nobody sets; this and the others in milliseconds
 */
export function firstPeriodOf(keepMs: number, work: number, periodMs: number): number {
  return Math.floor((work - keepMs) / periodMs)
}

/**
 * Before which time a thing is old enough; null: the program has not worked for long enough to know.
 * @param first as {@link firstPeriodOf} says it
 * @param wall the wall clock now
 * @param shown `earliest` since the period `first`
 */
export function ageLimitOf(
  { keepMs, wall, first }: { readonly keepMs: number; readonly wall: number; readonly first: number },
  { oldest, earliest }: ShownTimes,
): AgeLimit | null {
  if (oldest === null || earliest === null || oldest > first) return null
  return Math.min(wall - keepMs, earliest - SLACK_MS) as AgeLimit
}
