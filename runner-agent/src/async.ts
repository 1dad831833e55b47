/** Runs `task` for every item, at most `limit` at a time. The first failure is thrown once the running ones ended. */
export async function forEachLimited<Item>(
  items: Iterable<Item>,
  limit: number,
  task: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]()
  let failed = false
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); !next.done && !failed; next = rest.next()) {
      try {
        await task(next.value)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const outcomes = await Promise.allSettled(Array.from({ length: limit }, worker))
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
}

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
      const result = last.then(task, task)
      last = result.catch(() => undefined)
      return result
    },
    async idle() {
      await last
    },
  }
}
