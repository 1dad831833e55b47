/** A bell that rings until somebody hears it. So a change is not missed while the follower is busy. */
export type Wake = ReturnType<typeof createWake>

/** Makes a {@link Wake} on which nobody waits yet. */
export function createWake() {
  let rung = false
  let failure: { readonly error: unknown } | null = null
  let wakeUp: (() => void) | null = null
  return {
    ring(): void {
      rung = true
      wakeUp?.()
    },
    /** Rings with an error. `heard` then throws it. */
    fail(error: unknown): void {
      failure = { error }
      wakeUp?.()
    },
    /**
     * Resolves at the next ring, or at once when it has rung since the last call. Resolves also when the signal aborts.
     */
    async heard(signal: AbortSignal): Promise<void> {
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
