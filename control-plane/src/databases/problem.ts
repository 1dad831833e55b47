/** A database cannot be asked. The message is a sentence for people, without secrets. */
export class DatabaseProblem extends Error {
  override readonly name = 'DatabaseProblem'
}
