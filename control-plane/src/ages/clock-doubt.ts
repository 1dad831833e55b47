/** One hour of work by the service clock, in milliseconds: how finely it is stored what the wall clock showed. */
export const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** What is known of the wall clock of this host. Times and differences are in milliseconds. */
export interface ClockFacts {
  /** The wall clock now. */
  readonly wall: number
  /** What the wall clocks of the control planes showed in the last day of work, by the hour. */
  readonly shown: readonly { readonly hour: number; readonly earliest: number; readonly latest: number }[]
  /** The clock of the database's own host; null: there is none. */
  readonly database: number | null
  /** The clocks of the connected runners, minus ours. */
  readonly skews: readonly number[]
}

/** The first hour of the last day of work. @param work by the service clock */
export const firstHourOfDoubt = (work: number): number => Math.floor((work - DAY_MS) / HOUR_MS)

/**
 * Why the wall clock cannot be trusted, in words for people; null: nothing contradicts it by more than a day. One runner
 * with a wrong clock among many is no reason.
 */
export function clockDoubt({ wall, shown, database, skews }: ClockFacts): string | null {
  const jump = jumpOf(shown)
  if (jump > DAY_MS + HOUR_MS) {
    return `within the last day of work the clock of a control plane jumped by ${daysOf(jump)}: it was set, or no control plane worked for so long`
  }
  if (database !== null && Math.abs(database - wall) > DAY_MS) {
    return `the clock of this host is ${differenceOf(wall - database)} that of the database`
  }
  const far = skews.filter((skew) => Math.abs(skew) > DAY_MS)
  if (far.length * 2 > skews.length) {
    return `the clock of this host is ${differenceOf(-(far[0] ?? 0))} those of most runners that are connected (${far.length} of ${skews.length})`
  }
  return null
}

/** How far the wall clocks moved against the work, from the lowest to the highest. An hour more or less. */
function jumpOf(shown: ClockFacts['shown']): number {
  const low = Math.min(...shown.map(({ hour, earliest }) => earliest - hour * HOUR_MS))
  const high = Math.max(...shown.map(({ hour, latest }) => latest - hour * HOUR_MS))
  return shown.length === 0 ? 0 : high - low
}

function differenceOf(ahead: number): string {
  return `${daysOf(ahead)} ${ahead > 0 ? 'ahead of' : 'behind'}`
}

function daysOf(ms: number): string {
  const days = Math.round(Math.abs(ms) / DAY_MS)
  return `${days} ${days === 1 ? 'day' : 'days'}`
}
