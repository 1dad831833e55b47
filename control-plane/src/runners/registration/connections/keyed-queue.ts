/**
 * Runs tasks of the same key one after the other, in the order in which they came. Tasks of different keys do not wait
 * for each other.
 */
export interface KeyedQueue {
  run<T>(key: string, task: () => Promise<T>): Promise<T>
  /** Resolves when nothing runs or waits any more. */
  idle(): Promise<void>
}

/** Makes a queue without tasks. */
export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<unknown>>()
  return {
    run(key, task) {
      const before = last.get(key) ?? Promise.resolve()
      const result = before.then(task)
      const settled = result
        .catch(() => undefined)
        .finally(() => {
          if (last.get(key) === settled) last.delete(key)
        })
      last.set(key, settled)
      return result
    },
    async idle() {
      while (last.size > 0) await Promise.all(last.values())
    },
  }
}
