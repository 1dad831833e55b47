/** Whether a value has more levels of objects and lists than so many. It is gone through level by level, because a recursion would need the stack. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: readonly object[] = [value].filter(isContainer)
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > levels) return true
    level = level.flatMap((container) => (Object.values(container) as unknown[]).filter(isContainer))
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
