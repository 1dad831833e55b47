/**
 * Most levels of objects and lists in any value that comes from outside: a value of a person, a file, an answer of a
 * source. Code that goes through such values may be recursive. V8 ends the whole process, not only the request, when it
 * compiles a regular expression near the end of the stack. Python, which reads the values in the end, fails at about
 * 1000 levels.
 */
export const MAX_LEVELS = 100

/**
 * Most values and names of one text that comes from a person, or of one YAML file. A launch with all rows that a form
 * accepts (500 with 20 columns, sent twice) has 40,000. Every step of a launch goes through all of them.
 */
export const MAX_VALUES = 50_000

/** Whether a value has more levels. It is gone through level by level, because a recursion would need the stack. */
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
