/** Timers, passed in so that tests can control them. Whoever sets a timer keeps the function that ends it. */
export interface Timers {
  /** Runs once after `ms` milliseconds. Returns a function that cancels it. */
  after(ms: number, run: () => void): () => void
  /** Runs every `ms` milliseconds. Returns a function that ends it. */
  every(ms: number, run: () => void): () => void
}

/** The timers of the process. None of them keeps the process alive. */
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
