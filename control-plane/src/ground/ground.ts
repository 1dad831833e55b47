import type { Logger } from 'pino'
import type { Clock } from '../time/clock.js'
import type { Timers } from '../time/timers.js'

/** What every room may need from outside, and who closes what a room opens. */
export interface Ground {
  readonly clock: Clock
  /** A clock that never jumps. It measures how long something takes. */
  readonly steady: Clock
  readonly timers: Timers
  /** Returns this many random bytes, good enough for secrets. */
  readonly random: (bytes: number) => Buffer
  readonly log: Logger
  /** Registers a part that is closed with the program. The part that was opened last is closed first. */
  onClose(close: () => Promise<unknown>): void
}

/** Closes the parts of a program. */
export interface PartsOwner {
  readonly onClose: Ground['onClose']
  /**
   * Closes every part once, in the reverse order of opening. So no part loses another part that it still needs.
   * @throws the first error of a part, after all others were closed
   */
  close(): Promise<void>
}

/** Makes the {@link PartsOwner} of a program. */
export function createPartsOwner(): PartsOwner {
  const opened: (() => Promise<unknown>)[] = []
  return {
    onClose: (close) => void opened.push(close),
    async close() {
      const problems: unknown[] = []
      for (const close of opened.splice(0).reverse()) await close().catch((error: unknown) => problems.push(error))
      if (problems.length > 0) throw problems[0]
    },
  }
}
