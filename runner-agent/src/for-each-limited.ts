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
