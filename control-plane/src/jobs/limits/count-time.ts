/**
 * How often the time of a running job is stored, in milliseconds. If a node stops, at most so much time is lost. Then
 * the job may run that much longer.
 */
const COUNT_EVERY_MS = 5000

/** If two looks at a running job are further apart than this, in milliseconds, the time between them does not count. */
const MAX_BETWEEN_MS = 10_000

/** What is stored of the time of a job. */
export interface CountedTime {
  /** In milliseconds. */
  readonly limitMs: number
  readonly ranMs: number
  /** When it was counted last, by the service clock; null: never. */
  readonly countedAt: number | null
}

/** The values to be stored; `isOver`: the job must also be aborted. */
export interface Count {
  readonly ranMs: number
  readonly isOver: boolean
}

/**
 * The result of a look at a running job for its time limit; null: there is nothing to store yet. Decides from facts
 * alone.
 *
 * Time counts only while the playbook was able to run and a node saw it. It is measured by the service clock, which no
 * person and no other host can set, and which stands still while no control plane works. If two looks are far apart,
 * the runner was away in between. Its host may have been asleep. So such a time does not count. So a job can be ended
 * later than its form says, and never earlier.
 * @param now of the service clock
 */
export function countTime({ limitMs, ranMs, countedAt }: CountedTime, now: number): Count | null {
  const passed = countedAt === null ? null : now - countedAt
  if (passed === null || passed > MAX_BETWEEN_MS) return { ranMs, isOver: false }
  // Another node has counted later than this one looked.
  if (passed < 0) return null
  const isOver = ranMs + passed >= limitMs
  return isOver || passed >= COUNT_EVERY_MS ? { ranMs: ranMs + passed, isOver } : null
}

const UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
  [1000, 'second'],
] as const

/** `30 minutes`, `90 seconds`: in the largest unit that gives a whole number. */
export function durationWords(ms: number): string {
  const [size, unit] = UNITS.find(([length]) => ms >= length && ms % length === 0) ?? UNITS[3]
  const count = Math.round(ms / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
