/** Whether a text breaks the rules of YAML, has a number that JavaScript would change, or goes over a limit. */
type Kind = 'syntax' | 'number' | 'limit'

/** A mistake in a YAML text that a person must correct. */
export class YamlProblem extends Error {
  override readonly name = 'YamlProblem'

  constructor(
    /** Counted from 1. */
    readonly line: number,
    readonly reason: string,
    readonly kind: Kind = 'syntax',
  ) {
    super(`line ${line}: ${reason}`)
  }
}
