import type { ErrorAnswer } from './interface.gen.js'

/** Every failure of a request is one of the classes below. */
export abstract class ClientError extends Error {
  constructor(
    readonly server: string,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/**
 * There was no answer, or only a part of it. `cause` says why. A request that changes something may have arrived all
 * the same.
 */
export class UnreachableError extends ClientError {}

/**
 * The server redirects to another address. The client does not follow, because the other address would get the token.
 */
export class RedirectedError extends ClientError {
  constructor(
    server: string,
    readonly location: string | null,
  ) {
    super(server, `${server} redirects to ${location ?? 'another address'}`)
  }
}

/** The server said no (4xx). `code` is its stable word for programs, `sentence` what it says to people. */
export class RefusedError extends ClientError {
  readonly code: string | null
  readonly sentence: string
  readonly details: ErrorAnswer['details']

  constructor(
    server: string,
    readonly status: number,
    answer: ErrorAnswer,
    /** When to come back, from a server that was asked too much. */
    readonly retryAfterSeconds: number | null,
  ) {
    super(server, answer.error)
    this.sentence = answer.error
    this.code = answer.code ?? null
    this.details = answer.details
  }
}

/** The server cannot answer now (5xx). */
export class UnavailableError extends ClientError {
  constructor(
    server: string,
    readonly status: number,
    readonly answer: ErrorAnswer | null,
    /** The request in the log of the server. */
    readonly requestId: string | null,
  ) {
    super(server, answer?.error ?? `${server} answered ${status}`)
  }
}

/** The answer does not fit the interface. Perhaps a later client understands it. */
export class StrangeAnswerError extends ClientError {
  constructor(
    server: string,
    readonly status: number,
    /** The request, such as `GET /job/7`. */
    readonly request: string,
    readonly problem: 'no reason' | 'not JSON' | 'not understood',
    message: string,
    options?: ErrorOptions,
  ) {
    super(server, message, options)
  }
}
