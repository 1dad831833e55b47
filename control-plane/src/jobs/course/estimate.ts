import type { Course } from './course.js'
import { type RunProfile, tasksOf } from './run-profile.js'

/** How far a run is, estimated from earlier runs. Times are in milliseconds. */
export interface Estimate {
  /** From 0 to 1. It never falls while the run goes on. */
  readonly progress: number
  /** Time that is left according to the median of the earlier runs. 0: the run takes longer than they did. */
  readonly leftMs: number
  /** Time that is left according to the quickest earlier run, and to the slowest one. */
  readonly shortestMs: number
  readonly longestMs: number
  /** Number of the earlier runs. */
  readonly runs: number
}

/** If no earlier run had most of the tasks of a run, the run is of another playbook. Then there is no estimate. */
const LEAST_KNOWN_SHARE = 0.5

/**
 * Estimates how much time is left for a run. It looks for the place in each earlier run that this run has reached, and
 * adds up the times of the tasks after that place. The estimate is the median over the earlier runs. The reached place
 * never moves back, so a task that comes out of its order changes nothing. So the time that is left only gets shorter,
 * as long as the earlier runs stay the same.
 * @param profiles of earlier runs of the same form that succeeded, in any order
 * @param now milliseconds since the epoch
 * @returns null when there is nothing to estimate from
 */
export function estimateOf(profiles: readonly RunProfile[], course: Course, now: number): Estimate | null {
  if (!course.isComplete || isAnotherPlaybook(profiles, course)) return null
  const begun = tasksOf(course)
  const lefts = profiles.map((profile) => (course.isFinished ? 0 : leftBy(profile, begun, now)))
  return estimateFrom(
    lefts,
    profiles.map((profile) => sum(profile.map(({ ms }) => ms))),
  )
}

/** Whether earlier runs say nothing about a run, because they did not have most of the tasks that it has begun. */
export function isAnotherPlaybook(profiles: readonly RunProfile[], course: Course): boolean {
  const begun = tasksOf(course)
  const known = new Set(profiles.flatMap((profile) => profile.map(({ key }) => key)))
  const strange = begun.filter(({ key }) => !known.has(key)).length
  return begun.length > 0 && strange > begun.length * (1 - LEAST_KNOWN_SHARE)
}

/**
 * The estimate of a run. Null: there were no earlier runs, or they took no time.
 * @param lefts the time that was left in each earlier run at the place of this run
 * @param totals the duration of each earlier run
 */
export function estimateFrom(lefts: readonly number[], totals: readonly number[]): Estimate | null {
  if (lefts.length === 0 || median(totals) === 0) return null
  const leftMs = median(lefts)
  const progress = Math.min(1, Math.max(0, median(lefts.map((left, at) => doneShare(left, totals[at] ?? 0)))))
  return { progress, leftMs, shortestMs: Math.min(...lefts), longestMs: Math.max(...lefts), runs: lefts.length }
}

/** The time that was left in an earlier run at the place that this run has reached. */
export function leftBy(profile: RunProfile, begun: ReturnType<typeof tasksOf>, now: number): number {
  const places = new Map(profile.map(({ key }, place) => [key, place]))
  let [reached, since] = [-1, 0]
  for (const { key, record } of begun) {
    const place = places.get(key) ?? -1
    if (place > reached) [reached, since] = [place, Date.parse(record.started)]
  }
  const after = sum(profile.slice(reached + 1).map(({ ms }) => ms))
  const current = profile[reached]?.ms ?? 0
  // The two times are of two hosts. The runner's clock may be ahead, and then the difference would be negative.
  const elapsed = Math.max(0, now - since)
  return after + Math.max(0, current - (reached === -1 ? 0 : elapsed))
}

function doneShare(left: number, total: number): number {
  return total === 0 ? 1 : 1 - left / total
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  const [low = 0, high = 0] = [sorted[sorted.length % 2 === 0 ? middle - 1 : middle], sorted[middle]]
  return (low + high) / 2
}
