/** The time, passed in so that tests can hold it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
}

/** The wall clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * A clock that shows the same time as another one when it is made and then never jumps, however that one is set: for
 * how long something has lasted, which must not end anything early or never because somebody has set the clock.
 * @param elapsed milliseconds since any fixed moment
 */
export function createSteadyClock(clock: Clock, elapsed: () => number = () => performance.now()): Clock {
  const ahead = clock.now() - elapsed()
  return { now: () => Math.round(ahead + elapsed()) }
}

/** ISO 8601 in UTC with milliseconds, as every answer shows times; null stays null. */
export function isoTime(time: number): string
export function isoTime(time: number | null): string | null
export function isoTime(time: number | null): string | null {
  return time === null ? null : new Date(time).toISOString()
}
