import type { Callers } from '../time/callers.js'

/** A question to a database that a form asks. */
export interface DatabaseQuery {
  /** `dbConfig` as the form has it. It is not checked before it comes here. */
  readonly config: unknown
  /** The text of the form, with `$(field)` placeholders that are not filled in. */
  readonly text: string
  /**
   * The value that a placeholder stands for.
   * @param placeholder the text between the parentheses
   */
  readonly value: (placeholder: string) => unknown
  /** Those who wait for the answer. Callers take turns. */
  readonly callers: Callers
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal
}

/** The rows that a database answered. */
export interface DatabaseAnswer {
  readonly rows: readonly Record<string, unknown>[]
  /** There were more rows than the limit. */
  readonly truncated: boolean
}

/** Asks the databases that forms name. */
export interface Databases {
  /** @throws an error of this room, with a sentence for people that shows no secret */
  ask(query: DatabaseQuery): Promise<DatabaseAnswer>
  /** Ends every connection. */
  close(): Promise<void>
}
