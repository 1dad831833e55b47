import type { RuleId } from './rule-book.js'

/**
 * Rules that no test can show because what they are about is not there, with the reason. A run fails as soon as a test
 * shows one of them, so that this list says no more than is true.
 */
export const NOT_BUILT: Readonly<Record<string, readonly RuleId[]>> = {}
