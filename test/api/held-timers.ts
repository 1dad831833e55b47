import type { Timers } from '../../control-plane/src/time/timers.js'

/** Timers that only run when the test says so. */
export function heldTimers() {
  const due: { at: number; ms: number; every: number | null; run: () => void }[] = []
  let time = 0
  const add = (ms: number, every: number | null, run: () => void) => {
    const timer = { at: time + ms, ms, every, run }
    due.push(timer)
    return () => {
      const index = due.indexOf(timer)
      if (index >= 0) due.splice(index, 1)
    }
  }
  const timers: Timers = { after: (ms, run) => add(ms, null, run), every: (ms, run) => add(ms, ms, run) }
  return {
    timers,
    count: () => due.length,
    /** How many wait that were set to so many milliseconds. */
    countOf: (ms: number) => due.filter((timer) => timer.ms === ms).length,
    /** Whether one waits that was set to so many milliseconds. */
    waitsFor: (ms: number) => due.some((timer) => timer.ms === ms),
    move(ms: number) {
      const end = time + ms
      for (;;) {
        const next = due.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        time = next.at
        if (next.every === null) due.splice(due.indexOf(next), 1)
        else next.at += next.every
        next.run()
      }
      time = end
    },
  }
}
