/** How long to wait before dialling again, in milliseconds. */
export interface BackOff {
  /** After a connection that failed or was lost. */
  next(): number
  /** After a refusal that only a person can change: the longest wait. */
  longest(): number
  /** After a connection has proven itself. */
  reset(): void
}

/**
 * Full jitter: a random part of a span that doubles from the shortest to the longest. A restarted control plane meets
 * every agent at once, so they must not come back in step.
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
