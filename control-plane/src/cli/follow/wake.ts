/** A bell that rings until somebody hears it. So a change is not missed while the follower is busy. */
export interface Wake {
  ring(): void
  /** Rings with an error. `heard` then throws it. */
  fail(error: unknown): void
  /** Resolves at the next ring, or at once when it has rung since the last call. Resolves also when the signal aborts. */
  heard(signal: AbortSignal): Promise<void>
}

/** Makes a {@link Wake} on which nobody waits yet. */
export function createWake(): Wake {
  let rung = false
  let failure: { readonly error: unknown } | null = null
  let wakeUp: (() => void) | null = null
  return {
    ring() {
      rung = true
      wakeUp?.()
    },
    fail(error) {
      failure = { error }
      wakeUp?.()
    },
    async heard(signal) {
      if (!rung && !failure && !signal.aborted) {
        await new Promise<void>((resolve) => {
          wakeUp = resolve
          signal.addEventListener('abort', wakeUp, { once: true })
        })
        if (wakeUp) signal.removeEventListener('abort', wakeUp)
        wakeUp = null
      }
      rung = false
      if (failure) throw failure.error
    },
  }
}
