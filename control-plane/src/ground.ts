import type { Logger } from 'pino'
import type { Clock } from './clock.js'
import type { Timers } from './timers.js'

/** What every room may need of the world outside, and who ends what a room opens. */
export interface Ground {
  readonly clock: Clock
  /** Never jumps: it measures how long something lasts. */
  readonly steady: Clock
  readonly timers: Timers
  /** So many random bytes, fit for secrets. */
  readonly random: (bytes: number) => Buffer
  readonly log: Logger
  /** Has a part closed with the program. The part that was opened last is closed first. */
  onClose(close: () => Promise<unknown>): void
}

/** Who closes the parts of a program. */
export interface PartsOwner {
  readonly onClose: Ground['onClose']
  /** Closes every part once, in the reverse order of opening: nothing is taken away from a part that still works. */
  close(): Promise<void>
}

export function createPartsOwner(): PartsOwner {
  const opened: (() => Promise<unknown>)[] = []
  return {
    onClose: (close) => void opened.push(close),
    async close() {
      for (const close of opened.splice(0).reverse()) await close()
    },
  }
}
