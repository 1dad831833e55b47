import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { onTestFinished } from 'vitest'

/** The pauses that this process makes. They last until the test ends them. */
export interface HeldPauses {
  /** How many have begun so far. */
  count(): number
  /** Whether this process would wait for one of them before it ends. */
  areWaitedFor(): boolean
  /** Ends those that are under way. */
  end(): void
}

/** Holds the pauses of exactly so many milliseconds (those of `node:timers/promises`) until the test is finished. */
export function holdPauses(milliseconds: number): HeldPauses {
  const real = timers.setTimeout
  const waiting: (() => void)[] = []
  let count = 0
  let areWaitedFor = false
  const held = (ms?: number, value?: unknown, options?: { ref?: boolean }): Promise<unknown> => {
    if (ms !== milliseconds) return real(ms, value, options)
    count += 1
    if (options?.ref !== false) areWaitedFor = true
    return new Promise<void>((resolve) => void waiting.push(resolve))
  }
  const replace = (by: typeof real): void => {
    timers.setTimeout = by
    syncBuiltinESMExports()
  }
  const end = (): void => {
    for (const resolve of waiting.splice(0)) resolve()
  }
  replace(held as typeof real)
  onTestFinished(() => {
    replace(real)
    end()
  })
  return { count: () => count, areWaitedFor: () => areWaitedFor, end }
}
