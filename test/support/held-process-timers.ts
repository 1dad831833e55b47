import { heldTimers } from '../api/held-timers.js'

/** What stands for a timer while the real ones are held. */
class HeldTimer {
  constructor(readonly cancel: () => void) {}
  ref = () => this
  unref = () => this
  hasRef = () => false
}

/**
 * Holds the timers of this process: those that are set from now on run only when the test moves the time. For code that
 * gets no timers passed in. Test files share their process, so whoever holds them calls `release`.
 */
export function holdProcessTimers() {
  const real = { setTimeout, clearTimeout, setInterval, clearInterval }
  const held = heldTimers()
  const set =
    (kind: 'after' | 'every') =>
    (run: (...given: unknown[]) => void, ms?: number, ...given: unknown[]) =>
      new HeldTimer(held.timers[kind](ms ?? 0, () => run(...given))) as unknown as NodeJS.Timeout
  const clear = (timer: unknown): void => {
    if (timer instanceof HeldTimer) timer.cancel()
    else real.clearTimeout(timer as NodeJS.Timeout | undefined)
  }
  globalThis.setTimeout = Object.assign(set('after'), real.setTimeout) as typeof setTimeout
  globalThis.setInterval = Object.assign(set('every'), real.setInterval) as typeof setInterval
  globalThis.clearTimeout = clear
  globalThis.clearInterval = clear
  return {
    /** How many are set. */
    count: held.count,
    advance: held.move,
    release: () => void Object.assign(globalThis, real),
  }
}
