/** The result of an expression. `isAsking`: it needs an answer that is not known yet. */
export type Evaluated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string; readonly isAsking?: boolean }

/**
 * The answer for a script that asks: the answer itself, the reason why there is none, or null when it is not known yet.
 */
export type AskInScript = (
  name: string,
  given: readonly unknown[],
) => { readonly ok: unknown } | { readonly reason: string } | null

/**
 * Runs JavaScript and patterns of form files. Both may be slow, by mistake or because of what a user typed. So both
 * have a time limit. They can use only the values that they get.
 */
export interface Evaluator {
  /**
   * @param script JavaScript whose last expression is the value
   * @param parent the value of `__parent__` in it
   * @param isExpression the script is read as an expression, if that is possible
   * @param ask answers the functions that ask; without it they refuse
   */
  evaluate(script: string, parent: unknown, isExpression?: boolean, ask?: AskInScript): Evaluated
  /** Whether a pattern matches anywhere in a text. */
  matches(pattern: string, text: string): Evaluated
}
