import type { RunnerCapacity } from '../socket/connection.js'

/** Jobs offered in one go to a runner without a limit. */
const MAX_OFFERS = 32

/** How often an offer is made again because the playbook folder changed under it. */
const MAX_FILE_CHANGES = 5

/** What is known of the offers to one runner at a moment. */
export interface OfferFacts {
  /** False: the connection is gone. */
  readonly isOpen: boolean
  /** True once it is known what the agent has, and what it was offered before. */
  readonly isStarted: boolean
  /** True for a while after a "busy" or a failure. */
  readonly isResting: boolean
  readonly capacity: Pick<RunnerCapacity, 'enabled' | 'draining' | 'maxJobs'>
  /** Jobs that the runner was offered or has. */
  readonly heldJobs: number
  /** True when the last look into the queue found no job. */
  readonly isQueueEmpty: boolean
}

/** What is to be done next with the jobs that wait for a runner. */
export type OfferStep =
  /** Nothing: the connection is not ready, or the queue is empty. */
  | { readonly kind: 'stop' }
  /** At most so many jobs are taken out of the queue and offered. */
  | { readonly kind: 'take'; readonly count: number }
  /** The jobs stay in the queue and their output says why. */
  | { readonly kind: 'say-waiting' }
  /** An admin has disabled the runner, so nobody would ever give the jobs a slot: they fail. */
  | { readonly kind: 'fail-waiting' }

/** Decides from facts alone; the caller carries the step out. */
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

/** What becomes of a job whose offer the agent did not take. */
export type RefusalStep =
  | { readonly kind: 'fail' }
  /** Back to its place in the queue. `rests`: nothing is offered to this runner for a while. */
  | { readonly kind: 'requeue'; readonly rests: boolean }

/** @param fileChanges how often the files of this job changed under an offer, this time included */
export function decideRefusal(code: string, fileChanges: number): RefusalStep {
  if (code === 'files_failed' || fileChanges > MAX_FILE_CHANGES) return { kind: 'fail' }
  return { kind: 'requeue', rests: code !== 'files_changed' }
}
