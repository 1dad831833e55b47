/** Runs tasks one after the other in the order they were added. When a task fails, the next one runs all the same. */
export interface SerialQueue {
  add<Result>(task: () => Promise<Result>): Promise<Result>
  /** Resolves when everything added so far has ended. */
  idle(): Promise<void>
}

/** An empty queue. */
export function createSerialQueue(): SerialQueue {
  let last: Promise<unknown> = Promise.resolve()
  return {
    add(task) {
      const result = last.then(() => task())
      // The queue only keeps the order. Who added the task gets its error.
      last = result.catch(() => undefined)
      return result
    },
    async idle() {
      await last
    },
  }
}

/**
 * Runs tasks of the same key one after the other, in the order in which they came. Tasks of different keys do not wait
 * for each other.
 */
export interface KeyedQueue {
  run<Result>(key: string, task: () => Promise<Result>): Promise<Result>
  /** Resolves when nothing runs or waits any more. */
  idle(): Promise<void>
}

/** Makes a queue without tasks. It knows a key only as long as a task of the key runs or waits. */
export function createKeyedQueue(): KeyedQueue {
  const last = new Map<string, Promise<unknown>>()
  return {
    run(key, task) {
      const before = last.get(key) ?? Promise.resolve()
      const result = before.then(() => task())
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
