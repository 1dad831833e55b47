/** Milliseconds since the epoch. */
export interface TimeRange {
  readonly start: number
  readonly end: number
}

/** A shorter idle time is not folded: at least so many milliseconds, and such a part of the whole. */
const MIN_FOLD_MS = 1000
const MIN_FOLD_PART = 1 / 12
/** How wide a fold is, as a part of all that is not folded. */
const FOLD_PART = 0.06

/** Distances between the marks of an axis, in seconds. */
const STEPS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 86_400, 604_800, 2_592_000,
]

/** The long times of a range in which nothing ran. Empty when nothing ran at all. */
export function idleTimes(busy: readonly TimeRange[], { start, end }: TimeRange): TimeRange[] {
  const idle: TimeRange[] = []
  let last = start
  for (const one of busy.toSorted((first, second) => first.start - second.start)) {
    idle.push({ start: last, end: Math.min(one.start, end) })
    last = Math.max(last, one.end)
  }
  idle.push({ start: last, end })
  const least = Math.max(MIN_FOLD_MS, (end - start) * MIN_FOLD_PART)
  return busy.length === 0 ? [] : idle.filter((one) => one.end - one.start >= least)
}

/** The places of times on an axis. @param folds in order; each has the same small width */
export function timeScale({ start, end }: TimeRange, folds: readonly TimeRange[]) {
  const open = Math.max(
    1,
    folds.reduce((rest, fold) => rest - (fold.end - fold.start), end - start),
  )
  const width = open * FOLD_PART
  const all = open + folds.length * width
  return {
    /** From 0 to 1. */
    placeOf(time: number): number {
      const shown = folds.reduce((ms, fold) => {
        const passed = Math.max(0, Math.min(time, fold.end) - fold.start)
        return ms - passed * (1 - width / (fold.end - fold.start))
      }, time - start)
      return Math.max(0, Math.min(1, shown / all))
    },
    /** Times for marks outside of the folds. @param most marks, about */
    marks(most: number): number[] {
      const step = (STEPS.find((seconds) => open <= seconds * 1000 * most) ?? open / 1000) * 1000
      const edges = [start, ...folds.flatMap((fold) => [fold.start, fold.end]), end]
      const marks: number[] = []
      for (let at = 0; at < edges.length; at += 2) {
        const [from = end, to = end] = edges.slice(at, at + 2)
        for (let mark = start + Math.ceil((from - start) / step) * step; mark <= to; mark += step) marks.push(mark)
      }
      return marks
    },
  }
}
