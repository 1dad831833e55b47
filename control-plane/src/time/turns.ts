/** Lets only so many in at a time under one name. */
export interface Turns {
  /**
   * Waits for a turn, in the order in which they came.
   * @returns how to leave again. @throws Error when the signal is aborted before the turn comes
   */
  take(name: string, signal: AbortSignal): Promise<() => void>
}

/** @param most how many are inside at a time under one name */
export function createTurns(most: number): Turns {
  const inside = new Map<string, number>()
  const waiting = new Map<string, (() => void)[]>()

  function leave(name: string): void {
    const [next, ...others] = waiting.get(name) ?? []
    if (others.length > 0) waiting.set(name, others)
    else waiting.delete(name)
    if (next) return next()
    const left = (inside.get(name) ?? 1) - 1
    if (left > 0) inside.set(name, left)
    else inside.delete(name)
  }

  return {
    async take(name: string, signal: AbortSignal): Promise<() => void> {
      const count = inside.get(name) ?? 0
      if (count < most) inside.set(name, count + 1)
      else {
        let enter: () => void = () => undefined
        const turn = new Promise<void>((resolve) => (enter = resolve))
        waiting.set(name, [...(waiting.get(name) ?? []), enter])
        try {
          await Promise.race([turn, aborted(signal)])
        } catch (error) {
          const others = (waiting.get(name) ?? []).filter((one) => one !== enter)
          // A turn that comes at the same moment is passed on.
          if (others.length === (waiting.get(name) ?? []).length) leave(name)
          else if (others.length > 0) waiting.set(name, others)
          else waiting.delete(name)
          throw error
        }
      }
      return () => leave(name)
    },
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new Error('the turn did not come in time'))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
}
