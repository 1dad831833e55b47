/** Timers, passed in so that tests can hold them. Whoever sets one keeps the function that ends it. */
export interface Timers {
  /** Runs once after `ms` milliseconds. Returns what cancels it. */
  after(ms: number, run: () => void): () => void
  /** Runs every `ms` milliseconds. Returns what ends it. */
  every(ms: number, run: () => void): () => void
}

/** The process's own timers. None of them keeps the process alive. */
export const systemTimers: Timers = {
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
  every(ms, run) {
    const timer = setInterval(run, ms).unref()
    return () => clearInterval(timer)
  },
}
