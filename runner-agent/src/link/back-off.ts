/** How long to wait before dialling again, in milliseconds. */
export type BackOff = ReturnType<typeof createBackOff>

/**
 * Full jitter: a random part of a span that doubles from the shortest to the longest. After a restart of the control plane
 * all agents dial again, and they must not do so at the same moment.
 */
export function createBackOff(options: {
  readonly shortestMs: number
  readonly longestMs: number
  readonly random: () => number
}) {
  const { shortestMs, longestMs, random } = options
  let attempt = 0
  return {
    /** After a connection that failed or was lost. */
    next(): number {
      const span = Math.min(longestMs, shortestMs * 2 ** attempt)
      attempt += 1
      return Math.round(random() * span)
    },
    /** After a refusal that only a person can change: the longest wait. */
    longest: (): number => longestMs,
    /** Starts again with the shortest wait: a connection has lasted long enough. */
    reset(): void {
      attempt = 0
    },
  }
}
