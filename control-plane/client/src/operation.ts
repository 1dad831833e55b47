import type * as v from 'valibot'

/** How an operation is asked for and what it answers. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Below `/api/v2`, with its parameters in braces. */
  readonly path: string
  /** Names of the parameters that go into the query. */
  readonly query: readonly string[]
  /** Content type of its answer. */
  readonly accept: string
  /** Checks the answer; null: the answer is handed over as it comes. */
  readonly schema: v.GenericSchema | null
  /** True for the few operations that need no token. */
  readonly open?: boolean
}

/** The request of an operation that takes nothing. */
export type NoParameters = Record<string, never>

/** What may be said of any request. */
export interface RequestOptions {
  /** Gives the request up; it then fails with the reason of the signal. */
  readonly signal?: AbortSignal
  /**
   * How long the request may take, its answer included; null: for ever. One minute when left out, for ever when the answer is
   * a stream or a file goes up.
   */
  readonly timeoutMs?: number | null
  /** Sends the request; `fetch` when left out. A browser says by other means how much of a file went up. */
  readonly fetch?: (address: URL, init: RequestInit) => Promise<Response>
}
