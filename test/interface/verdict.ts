import type { Statement } from './statements.js'

/** A test that says which rules it shows, and whether it may count. */
export interface ShowingTest extends Statement {
  readonly passed: boolean
}

/**
 * Whether these tests show every rule. A rule that is not built must not be shown, since then it is built; a rule counts as
 * shown only by a test that passed.
 * @returns what is wrong, one sentence each
 */
export function judge(
  rules: ReadonlySet<string>,
  notBuilt: ReadonlySet<string>,
  tests: readonly ShowingTest[],
): readonly string[] {
  const shown = new Set(tests.filter((test) => test.passed).flatMap((test) => test.covers))
  const problems = [...notBuilt]
    .filter((id) => !rules.has(id))
    .map((id) => `'${id}' is listed as not built, and is no rule`)
  for (const test of tests) {
    for (const id of test.covers) {
      if (!rules.has(id)) problems.push(`${test.file}: '${test.name}' names '${id}', which is no rule`)
    }
  }
  for (const id of rules) {
    if (notBuilt.has(id)) {
      if (shown.has(id)) problems.push(`'${id}' is listed as not built, but a test shows it: take it off the list`)
    } else if (!shown.has(id)) problems.push(`'${id}' is shown by no test that passed`)
  }
  return problems
}
