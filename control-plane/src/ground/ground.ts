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
