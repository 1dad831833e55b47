/**
 * Runs `check` for whoever asks, so that each sees what was there when it asked. Who asks while it runs must not share that run,
 * which may have passed by the place of a change already: all who ask meanwhile share the next one. So it never runs twice at the same
 * time, however many ask.
 */
export function freshLook(check: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | null = null
  let next: Promise<void> | null = null
  const run = () => {
    const own = check().finally(() => {
      if (running === own) running = null
    })
    running = own
    return own
  }
  return () => {
    if (!running) return run()
    next ??= running
      .catch(() => undefined)
      .then(() => {
        next = null
        return run()
      })
    return next
  }
}
