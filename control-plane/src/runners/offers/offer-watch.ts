import type { Clock } from '../../clock.js'

/**
 * How long an offer may stay without an answer while nothing that the runner asked for is being sent, in milliseconds.
 * A slow host needs its time to make a large playbook folder; one that needs longer than this is stuck.
 */
export const OFFER_TIMEOUT_MS = 10 * 60_000

/**
 * Watches the offers of one connection. An agent answers each of them: it claims, refuses or asks for files. One that is
 * alive and does not, has lost the offer or hangs over it, and the job would hold its slot for ever.
 */
export class OfferWatch {
  /** When something was last heard or sent about each offer that waits for its answer, by the steady clock. */
  readonly #since = new Map<number, number>()

  constructor(private readonly steady: Clock) {}

  /** A job was offered, or the runner asked for something that it needs. */
  note(jobId: number): void {
    this.#since.set(jobId, this.steady.now())
  }

  answered(jobId: number): void {
    this.#since.delete(jobId)
  }

  /** A job whose offer nobody answers, or null. While files are on their way the answer cannot come. */
  overdue(isSending: boolean): number | null {
    const now = this.steady.now()
    for (const [jobId, since] of this.#since) {
      if (isSending) this.#since.set(jobId, now)
      else if (now - since > OFFER_TIMEOUT_MS) return jobId
    }
    return null
  }
}
