/** Whether a value has more levels of objects and lists than so many. It is gone through level by level, because a recursion would need the stack. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: readonly object[] = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return true
    const next: object[] = []
    for (const container of level) {
      // No list is made of the values of an object: there may be very many objects.
      for (const key in container) {
        const entry = (container as Readonly<Record<string, unknown>>)[key]
        if (isContainer(entry)) next.push(entry)
      }
    }
    level = next
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
