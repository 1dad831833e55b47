export interface Rate {
  /** What may come at once. */
  readonly burst: number
  /** What may come in a second, on and on. */
  readonly perSecond: number
}

/** Counts what comes against a rate. @param now milliseconds by a clock that never jumps */
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

  /** Counts something that has come. @returns milliseconds until the rate is kept to again; 0: it is kept to */
  take(cost = 1): number {
    const { burst, perSecond } = this.rate
    const now = this.now()
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1000) * perSecond) - cost
    this.#filledAt = now
    return this.#left >= 0 ? 0 : Math.ceil((-this.#left / perSecond) * 1000)
  }

  /** True when nothing has come for so long that a new bucket would say the same. */
  get isFull(): boolean {
    return this.#left + ((this.now() - this.#filledAt) / 1000) * this.rate.perSecond >= this.rate.burst
  }
}
