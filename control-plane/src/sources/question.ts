import type { Callers } from '../time/callers.js'
import type { Origins } from './origins.js'

/**
 * What a field of a form asks outside of the sandbox. It is plain data. The values of the form stand in place of its
 * placeholders. The text always comes from the file of the form, never from a caller.
 */
export type Question =
  | {
      readonly kind: 'function'
      readonly name: string
      readonly given: readonly unknown[]
      /** Who made the texts in `given`. */
      readonly origins: Origins
    }
  | {
      readonly kind: 'query'
      /** `dbConfig` of the field, with values in place of its placeholders. */
      readonly config: unknown
      /** Who made the texts in `config`. */
      readonly origins: Origins
      /** The query, with its placeholders. */
      readonly text: string
      /** The value of each placeholder. Its key is the text between the parentheses. */
      readonly values: Readonly<Record<string, unknown>>
    }

/** The answer to a question, or a sentence that says why there is none. */
export type Answer = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string }

/** A question, and the field that asks it. */
export interface Asked {
  readonly question: Question
  readonly field: string
  /** How long the answer is good for, in milliseconds; null: as long as usual. */
  readonly keepMs: number | null
}

/** For whom a question is asked. */
export interface Asker {
  /** Whether their roles let them use this credential. */
  readonly mayUse: (credential: string) => boolean
  /** True: an answer that somebody else got a short time ago is good enough. False for launches, which always ask. */
  readonly mayReuse: boolean
  /** The key of the person. People take turns. */
  readonly caller: string
  /** Aborted when the asker does not wait any more. */
  readonly signal?: AbortSignal
}

/** The work on a question: for whom it is done, and when nobody waits for it any more. */
export interface Work {
  readonly callers: Callers
  readonly signal: AbortSignal
}

/** Two questions with one key are the same question. */
export function questionKeyOf(question: Question): string {
  return JSON.stringify(question)
}

/** A source cannot answer. The message is a sentence for people, without secrets. */
export class SourceProblem extends Error {
  override readonly name = 'SourceProblem'
}
