import { InvalidInputError } from '../../errors.js'
import { MAX_LEVELS, isDeeperThan } from '../../texts/value-levels.js'

/**
 * Call this before anything goes through values that came from outside. It goes down level by level without recursion,
 * so no depth can do harm.
 * @throws InvalidInputError
 */
export function requireShallow(values: readonly unknown[]): void {
  if (values.some((value) => isDeeperThan(value, MAX_LEVELS))) {
    throw new InvalidInputError('too_deep', `Values may be nested ${MAX_LEVELS} levels deep`)
  }
}
