import { InvalidInputError } from '../../errors.js'

/**
 * Most levels of objects and lists in the values of a launch. In the end Python reads them, and it fails at about 1000.
 */
const MAX_DEPTH = 100

/**
 * Call this before anything goes through values that came from outside. It goes down level by level without recursion,
 * so no depth can do harm.
 * @throws InvalidInputError
 */
export function requireShallow(values: readonly unknown[]): void {
  let level: unknown[] = values.filter(isContainer)
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === MAX_DEPTH) {
      throw new InvalidInputError('too_deep', `Values may be nested ${MAX_DEPTH} levels deep`)
    }
    level = level.flatMap((value) => Object.values(value as object).filter(isContainer))
  }
}

function isContainer(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
