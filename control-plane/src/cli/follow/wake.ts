/** A bell that keeps ringing until somebody hears it: changes while the follower is busy are not missed. */
export interface Wake {
  ring(): void
  /** Rings with an error that `heard` throws. */
  fail(error: unknown): void
  /** Resolves at the next ring, at once when there was one since the last time. */
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
