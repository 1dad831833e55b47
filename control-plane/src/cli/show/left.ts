import type { Job } from '@holdfast/client'
import { durationText } from './time.js'

/** A sentence about how far a job is, and how long it will still take. */
export function leftText(estimate: NonNullable<Job['estimate']>): string {
  const { progress, left_seconds: left, shortest_seconds: shortest, longest_seconds: longest, runs } = estimate
  const from = `by ${runs === 1 ? 'one earlier run' : `${runs} earlier runs`}`
  if (longest === 0) return `It takes longer than before, ${from}.`
  const spread = shortest === longest ? '' : `, ${inWords(shortest)} to ${inWords(longest)}`
  return `${Math.floor(progress * 100)} % done, about ${inWords(left)} left${spread}, ${from}.`
}

function inWords(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  return durationText(seconds) ?? ''
}
