import type { Clock } from './clock.js'

/**
 * Lets `check` run at most once per `everyMs`, and never twice at the same time: whoever asks meanwhile shares the
 * answer. How files are watched without a watcher.
 */
export function atMostEvery(everyMs: number, clock: Clock, check: () => Promise<void>): () => Promise<void> {
  let checkedAt: number | null = null
  let running: Promise<void> | null = null
  return () => {
    if (running) return running
    const now = clock.now()
    // A clock that was set back must not stop the checks.
    if (checkedAt !== null && now >= checkedAt && now - checkedAt < everyMs) return Promise.resolve()
    checkedAt = now
    running = check().finally(() => {
      running = null
    })
    return running
  }
}
