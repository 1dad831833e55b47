import type { Refusal } from './intake.js'

/** Most jobs in the spool: the list of so many still fits into one message. */
const MAX_SPOOLED_JOBS = 5_000

/** What decides whether one more job can be taken. */
export interface OfferFacts {
  /** Why no job is taken until a person has done something; null: jobs are taken. */
  readonly problem: string | null
  /** Why no job can be taken just now; null: all is well. */
  readonly hostProblem: Refusal | null
  readonly draining: boolean
  /** Most jobs at once; 0: no limit. */
  readonly maxJobs: number
  /** Jobs that hold a slot: running ones, and offered ones that are not claimed yet. */
  readonly slotsTaken: number
  readonly spooledJobs: number
  readonly spoolBytes: number
  readonly spoolMaxBytes: number
}

/** Why an offered job is refused, or null: it is taken. */
export function refusalOf(facts: OfferFacts): Refusal | null {
  const { problem, hostProblem, draining, maxJobs, slotsTaken, spooledJobs, spoolBytes, spoolMaxBytes } = facts
  if (problem !== null) return { code: 'draining', message: problem }
  if (hostProblem !== null) return hostProblem
  if (draining) return { code: 'draining', message: 'the runner is stopping' }
  if (maxJobs > 0 && slotsTaken >= maxJobs) return { code: 'busy', message: `${maxJobs} jobs run already` }
  if (spoolBytes > spoolMaxBytes || spooledJobs >= MAX_SPOOLED_JOBS) {
    return { code: 'spool_full', message: 'too much waits in the spool for the control plane to store it' }
  }
  return null
}

/**
 * Most jobs at once; 0: no limit.
 * @param limit of the admin, or of the agent when the admin set none; 0: none
 * @param most whatever the limit says; 0: none
 */
export function effectiveMaxJobs(limit: number, most: number): number {
  if (most === 0) return limit
  return limit === 0 ? most : Math.min(limit, most)
}
