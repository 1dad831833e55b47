import { TestRunner } from 'vitest'
import type { RuleId } from './rules.js'

declare module 'vitest' {
  interface TaskMeta {
    /** Rules of the interface that the test shows. */
    covers?: readonly string[]
  }
}

/**
 * Says which rules of the interface a test shows. It is the first statement of the test, so that only a test that runs says
 * it. Not for tests that run beside others of their file (`concurrent`).
 */
export function covers(...rules: readonly [RuleId, ...RuleId[]]): void {
  const test = TestRunner.getCurrentTest()
  if (!test) throw new Error('covers() is called inside a test')
  test.meta.covers = [...(test.meta.covers ?? []), ...rules]
}
