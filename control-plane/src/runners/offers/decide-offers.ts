import type { RunnerCapacity } from '../socket/connection.js'

/** Most jobs that are offered at once to a runner without a limit. */
const MAX_OFFERS = 32

/** How often an offer is repeated because the playbook folder has changed meanwhile. */
const MAX_FILE_CHANGES = 5

/** The facts about the offers to one runner at one moment. */
export interface OfferFacts {
  /** False: the connection is gone. */
  readonly isOpen: boolean
  /** True as soon as it is known which jobs the agent has, and which it was offered before. */
  readonly isStarted: boolean
  /** True for a while after a "busy" or a failure. */
  readonly isResting: boolean
  readonly capacity: Pick<RunnerCapacity, 'enabled' | 'draining' | 'maxJobs'>
  /** Jobs that the runner was offered or has. */
  readonly heldJobs: number
  /** True when the last look into the queue found no job. */
  readonly isQueueEmpty: boolean
}

/** The next step for the jobs that wait for a runner. */
export type OfferStep =
  /** Nothing: the connection is not ready, or the queue is empty. */
  | { readonly kind: 'stop' }
  /** At most this number of jobs is taken out of the queue and offered. */
  | { readonly kind: 'take'; readonly count: number }
  /** The jobs stay in the queue and their output says why. */
  | { readonly kind: 'say-waiting' }
  /** An admin has disabled the runner, so the jobs would never get a slot. They fail. */
  | { readonly kind: 'fail-waiting' }

/** Decides from facts alone. The caller carries out the step. */
export function decideOffers(facts: OfferFacts): OfferStep {
  if (!facts.isOpen || !facts.isStarted) return { kind: 'stop' }
  const count = freeSlots(facts)
  if (count <= 0) return facts.capacity.enabled ? { kind: 'say-waiting' } : { kind: 'fail-waiting' }
  return facts.isQueueEmpty ? { kind: 'stop' } : { kind: 'take', count }
}

function freeSlots({ capacity, isResting, heldJobs }: OfferFacts): number {
  const { enabled, draining, maxJobs } = capacity
  if (!enabled || draining || isResting) return 0
  return maxJobs === 0 ? MAX_OFFERS : Math.min(MAX_OFFERS, maxJobs - heldJobs)
}

/** The next step for a job whose offer the agent refused. */
export type RefusalStep =
  | { readonly kind: 'fail' }
  /** The job goes back to its place in the queue. `rests`: for a while, nothing is offered to this runner. */
  | { readonly kind: 'requeue'; readonly rests: boolean }

/** @param fileChanges how often the files of this job changed during an offer, including this time */
export function decideRefusal(code: string, fileChanges: number): RefusalStep {
  if (code === 'files_failed' || fileChanges > MAX_FILE_CHANGES) return { kind: 'fail' }
  return { kind: 'requeue', rests: code !== 'files_changed' }
}
