import { onTestFinished, vi } from 'vitest'

/** A clock that only the test moves. */
export interface HeldClock {
  /** Timers that wait. */
  count(): number
  /** Lets so many milliseconds pass, and runs what is due meanwhile. */
  move(milliseconds: number): void
}

/** What is held. What is not named goes on as it is: a test can still wait for what the system does. */
interface HeldParts {
  /** Timers of this process. */
  readonly timers?: boolean
  /** The monotonic clock, by which times are compared. */
  readonly performance?: boolean
  /** The time of day, which begins with this one. */
  readonly date?: number
}

interface Timer {
  at: number
  readonly every: number | null
  readonly run: () => void
  unref(): Timer
}

/** Holds parts of the clock until the test is finished. */
export function holdClock({ timers = false, performance: isPerformance = false, date }: HeldParts): HeldClock {
  const waiting: Timer[] = []
  let time = 0
  const add = (milliseconds: number, every: number | null, run: () => void): Timer => {
    const timer: Timer = { at: time + milliseconds, every, run, unref: () => timer }
    waiting.push(timer)
    return timer
  }
  const remove = (timer: unknown): void => {
    const index = waiting.indexOf(timer as Timer)
    if (index >= 0) waiting.splice(index, 1)
  }
  const after = (run: () => void, milliseconds = 0) => add(milliseconds, null, run) as never
  const each = (run: () => void, milliseconds = 0) => add(milliseconds, milliseconds, run) as never
  const spies: { mockRestore(): void }[] = []
  if (timers) {
    spies.push(vi.spyOn(globalThis, 'setTimeout').mockImplementation(after as never))
    spies.push(vi.spyOn(globalThis, 'setInterval').mockImplementation(each as never))
    spies.push(vi.spyOn(globalThis, 'clearTimeout').mockImplementation(remove))
    spies.push(vi.spyOn(globalThis, 'clearInterval').mockImplementation(remove))
  }
  if (isPerformance) spies.push(vi.spyOn(performance, 'now').mockImplementation(() => time))
  if (date !== undefined) spies.push(vi.spyOn(Date, 'now').mockImplementation(() => date + time))
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
  })
  return {
    count: () => waiting.length,
    move(milliseconds) {
      const end = time + milliseconds
      for (;;) {
        const [next] = waiting.filter(({ at }) => at <= end).sort((one, other) => one.at - other.at)
        if (!next) break
        time = next.at
        if (next.every === null) remove(next)
        else next.at += next.every
        next.run()
      }
      time = end
    },
  }
}
