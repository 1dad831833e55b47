import type { RuleId } from './rule-book.js'

declare module 'vitest' {
  interface TaskMeta {
    /** Rules of the interface that the test shows. */
    covers?: readonly string[]
  }
}

/**
 * Says which rules of the interface a test shows: `test('…', covers('live.hello'), …)`. A rule counts as shown when such a
 * test ran and passed; docs/interface-coverage.md lists them.
 */
export function covers(...rules: readonly [RuleId, ...RuleId[]]): { meta: { covers: readonly RuleId[] } } {
  return { meta: { covers: rules } }
}
