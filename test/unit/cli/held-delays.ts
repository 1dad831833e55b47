import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** A wait of the program that lasts until the test ends it. */
export interface HeldDelay {
  end(): void
}

/**
 * Holds the waits of this length, until the test ends. Other waits stay as they are.
 * @returns those that were begun, the oldest first. An aborted one ends with an error, as a real one does
 */
export function holdDelays(milliseconds: number): readonly HeldDelay[] {
  const held: HeldDelay[] = []
  const real = timers.setTimeout
  const set = (delay: typeof real) => {
    timers.setTimeout = delay
    syncBuiltinESMExports()
  }
  set((ms, value, options) => {
    if (ms !== milliseconds) return real(ms, value, options)
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new DOMException('The wait was aborted', 'AbortError'))
      if (options?.signal?.aborted === true) refuse()
      options?.signal?.addEventListener('abort', refuse, { once: true })
      held.push({ end: () => resolve(value as never) })
    })
  })
  onTestFinished(() => set(real))
  return held
}
