import type { Origin, Origins } from '../../sources/origins.js'

/** The result of an expression. `isAsking`: it needs an answer that is not known yet. */
export type Evaluated =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly reason: string; readonly isAsking?: boolean }

/**
 * The answer for a script that asks: the answer itself, the reason why there is none, or null when it is not known yet.
 * @param parts who made the texts in the arguments
 */
export type AskInScript = (
  name: string,
  given: readonly unknown[],
  parts: Origins['parts'],
) => { readonly ok: unknown } | { readonly reason: string } | null

/** What stands for a placeholder that nobody typed. */
export interface FilledValue {
  /** As it stands in a text of the script. */
  readonly text: string
  readonly origin: Origin
}

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
  /**
   * Marks what the author of a script wrote, before values go into it. So a script that asks can tell it from values. The
   * marks are gone from what `evaluate` gives.
   * @param valueOf what will stand for a placeholder; null: a person may have typed it
   */
  mark(script: string, valueOf: (inside: string) => FilledValue | null): string
  /** Whether a pattern matches anywhere in a text. */
  matches(pattern: string, text: string): Evaluated
}
