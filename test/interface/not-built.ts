import type { RuleId } from './rule-book.js'

/**
 * Rules that no test can show because what they are about is not there, with the reason. A run fails as soon as a test
 * shows one of them, so that this list says no more than is true.
 */
export const NOT_BUILT: Readonly<Record<string, readonly RuleId[]>> = {}

/** The rules that are not built, each with its reason. */
export function reasonsOfNotBuilt(): Map<string, string> {
  return new Map(Object.entries(NOT_BUILT).flatMap(([reason, ids]) => ids.map((id) => [id, reason] as const)))
}
