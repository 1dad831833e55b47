import { UsageError } from '../../errors.js'

/** The number that somebody typed. @param list the command that shows the numbers @throws UsageError */
export function numberOf(text: unknown, what: string, list: string): number {
  if (!/^\d{1,15}$/.test(String(text))) {
    throw new UsageError(`${String(text)} is not the number of a ${what}; see holdfast notification ${list}.`)
  }
  return Number(text)
}
