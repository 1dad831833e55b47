import type { Clock } from '../../time/clock.js'

/**
 * How long an offer may stay without an answer while nothing is being sent that the runner asked for, in milliseconds.
 * A slow host needs time to write a large playbook folder. A host that needs longer than this is stuck.
 */
export const OFFER_TIMEOUT_MS = 10 * 60_000

/**
 * Watches the offers of one connection. An agent answers each offer: it claims, refuses, or asks for files. An agent
 * that is alive and does not answer has lost the offer or is stuck. Without this watch, the job would keep its slot for
 * ever.
 */
export class OfferWatch {
  /**
   * For each unanswered offer, by job: the time of the last message about it, in either direction, by the steady clock.
   */
  readonly #since = new Map<number, number>()

  constructor(private readonly steady: Clock) {}

  /** Call it when a job was offered, or when the runner asked for something that the job needs. */
  note(jobId: number): void {
    this.#since.set(jobId, this.steady.now())
  }

  answered(jobId: number): void {
    this.#since.delete(jobId)
  }

  /** A job whose offer gets no answer, or null. While files are being sent, the answer cannot come yet. */
  overdue(isSending: boolean): number | null {
    const now = this.steady.now()
    for (const [jobId, since] of this.#since) {
      if (isSending) this.#since.set(jobId, now)
      else if (now - since > OFFER_TIMEOUT_MS) return jobId
    }
    return null
  }
}
