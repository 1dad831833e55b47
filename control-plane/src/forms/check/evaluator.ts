/** What came of an expression. */
export type Evaluated = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

/**
 * Runs what form files bring along: JavaScript and patterns. Both may be slow by mistake or by what a user typed, so
 * both are bounded; neither can reach anything but the values it is given.
 */
export interface Evaluator {
  /**
   * @param script JavaScript whose last expression is the value
   * @param parent what `__parent__` is in it
   * @param isExpression the script is an expression, as far as it can be read as one
   */
  evaluate(script: string, parent: unknown, isExpression?: boolean): Evaluated
  /** Whether a pattern matches anywhere in a text. */
  matches(pattern: string, text: string): Evaluated
}
