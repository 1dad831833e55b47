/** A rate limit for messages or requests. */
export interface Rate {
  /** How much may arrive at once. */
  readonly burst: number
  /** How much may arrive each second in the long run. */
  readonly perSecond: number
}

/** Compares the arrivals with a rate. @param now milliseconds by a clock that never jumps */
export class TokenBucket {
  #left: number
  #filledAt: number

  constructor(
    private readonly rate: Rate,
    private readonly now: () => number,
  ) {
    this.#left = rate.burst
    this.#filledAt = now()
  }

  /** Counts one arrival. @returns milliseconds until the rate is kept again; 0: it is kept */
  take(cost = 1): number {
    const { burst, perSecond } = this.rate
    const now = this.now()
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1000) * perSecond) - cost
    this.#filledAt = now
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left / perSecond) * 1000)
  }

  /** True when nothing has arrived for so long that a new bucket would give the same answer. */
  get isFull(): boolean {
    return this.#left + ((this.now() - this.#filledAt) / 1000) * this.rate.perSecond >= this.rate.burst
  }
}
