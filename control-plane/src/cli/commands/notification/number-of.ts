import { UsageError } from '../../errors.js'

/**
 * Reads a number that somebody typed.
 * @param what what the number is of, for the error
 * @param list the command that shows the numbers, for the error
 * @throws UsageError
 */
export function numberOf(text: unknown, what: string, list: string): number {
  if (!/^\d{1,15}$/.test(String(text))) {
    throw new UsageError(`${String(text)} is not the number of a ${what}; see holdfast notification ${list}.`)
  }
  return Number(text)
}
