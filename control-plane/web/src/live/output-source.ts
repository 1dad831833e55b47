import { type JobOutline, RefusedError } from '@holdfast/client'

export type { JobOutline }

/** Ansible begins warnings so. They have no events of their own. */
export const WARNING = 'WARNING]: '

/** One run never has so many generations. */
const RUN_STEP = 2 ** 32

/** Gives the generations of an output new numbers, which go up also when the number of the job became another run. */
export function createGenerations() {
  let [known, runs] = ['', 0]
  return {
    /** @param run whose output it is; a restored database gives the number of a job again */
    of(generation: number, run: string): number {
      if (known !== '' && run !== known) runs += 1
      known = run
      return runs * RUN_STEP + generation
    },
  }
}

/** Which line of an output is where. */
export interface OutputIndex {
  readonly bytes: number
  /** Number of line ends. */
  readonly lines: number
  readonly generation: number
  /** Where a block begins, and the number of line ends before it. */
  readonly points: readonly (readonly [byte: number, line: number])[]
}

/** Bytes of an output. */
export interface OutputPart {
  readonly bytes: Uint8Array
  readonly generation: number
  /** Of the whole output, in bytes; undefined: the source does not know. */
  readonly length?: number
  /** True when more may come than `length`. */
  readonly isOpen?: boolean
}

/** An answer that stays open while a job prints. */
export interface OutputStream {
  /** Of the whole output, in bytes, when the answer began. */
  readonly length: number
  /** True when more may come than `length`. */
  readonly isOpen: boolean
  readonly generation: number
  readonly pieces: AsyncIterable<Uint8Array>
  cancel(): Promise<void>
}

/** Lines in which a text stands. */
export interface OutputHits {
  readonly hits: readonly (readonly [line: number, byte: number])[]
  /** The byte to search on from; null: that was all. */
  readonly next: number | null
}

/** How to search. */
export interface SearchOptions {
  readonly matchCase: boolean
  /** A byte. */
  readonly from: number
  /** Most hits of one answer. */
  readonly limit: number
}

/** The output of one job, as the control plane gives it. Every function throws what the request failed with. */
export interface OutputSource {
  /** The output that this one is a part of; undefined: it is a whole one. */
  readonly whole?: OutputSource
  /** @returns null when the control plane has no index */
  index(signal: AbortSignal): Promise<OutputIndex | null>
  /** Bytes from an offset on, at most 1 MiB. */
  part(offset: number, length: number, signal: AbortSignal): Promise<OutputPart>
  /** Bytes from an offset on, as they come. */
  follow(offset: number, signal: AbortSignal): Promise<OutputStream>
  /** The plays and tasks that changed after this event. */
  outline(after: number, signal: AbortSignal): Promise<JobOutline>
  /** The places of a text. No character of the text has a special meaning. */
  search(word: string, options: SearchOptions, signal: AbortSignal): Promise<OutputHits>
}

/** Whether asking again is of no use: not allowed, not there, nobody signed in, no marks in it. */
export function isRefusal(error: unknown): error is RefusedError {
  return error instanceof RefusedError && [401, 403, 404, 409].includes(error.status)
}
