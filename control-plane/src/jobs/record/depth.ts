import { InvalidInputError } from '../../errors.js'

/** Levels of objects and lists in the values of a launch. Python, which reads them in the end, gives up at some 1000. */
const MAX_DEPTH = 100

/**
 * To be asked before anything walks through values that came from outside. It goes down level by level and calls nothing
 * on the way, so that no depth can hurt.
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
