/** How long to wait before dialling again, in milliseconds. */
export interface BackOff {
  /** After a connection that failed or was lost. */
  next(): number
  /** After a refusal that only a person can change: the longest wait. */
  longest(): number
  /** Starts again with the shortest wait: a connection has lasted long enough. */
  reset(): void
}

/**
 * Full jitter: a random part of a span that doubles from the shortest to the longest. After a restart of the control plane
 * all agents dial again, and they must not do so at the same moment.
 */
export function createBackOff(options: {
  readonly shortestMs: number
  readonly longestMs: number
  readonly random: () => number
}): BackOff {
  const { shortestMs, longestMs, random } = options
  let attempt = 0
  return {
    next() {
      const span = Math.min(longestMs, shortestMs * 2 ** attempt)
      attempt += 1
      return Math.round(random() * span)
    },
    longest: () => longestMs,
    reset() {
      attempt = 0
    },
  }
}
