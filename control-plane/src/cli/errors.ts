import { EXIT, type ExitCode } from './exit-codes.js'

/** Ends the command: one sentence for the person at the terminal that says what to do next, and the exit code. */
export class CliError extends Error {
  constructor(
    readonly exitCode: ExitCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The command line, a setting or a file given with it is wrong. */
export class UsageError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super(EXIT.usage, message, options)
  }
}

/** Nobody answers, or the server says that it cannot now. Whoever follows a job tries again after this one. */
export class UnreachableError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super(EXIT.unreachable, message, options)
  }
}

/** There is no valid sign-in for this server. */
export class NotSignedInError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super(EXIT.notSignedIn, message, options)
  }
}

/** The server understood and said no. `code` is its stable word for programs, `refusal` what it said. */
export class RefusedError extends CliError {
  constructor(
    message: string,
    readonly status: number,
    readonly code: string | null,
    readonly refusal: Refusal | null = null,
  ) {
    super(EXIT.refused, message)
  }
}

/** What a server said when it refused: a sentence, and details such as the fields with wrong values. */
export interface Refusal {
  readonly sentence: string
  readonly details: Readonly<Record<string, unknown>>
}

/** Nothing has the name or id that was given. It ends like the refusal of a server that knows no such thing. */
export class NotFoundError extends CliError {
  constructor(message: string) {
    super(EXIT.refused, message)
  }
}

/** The server answered, but with something that this client does not understand. */
export class StrangeAnswerError extends CliError {
  constructor(message: string, options?: ErrorOptions) {
    super(EXIT.unexpected, message, options)
  }
}

/** Ctrl-C. */
export class InterruptedError extends CliError {
  constructor(message: string) {
    super(EXIT.interrupted, message)
  }
}

/** Whether trying again mends it: nobody answers, or too much was asked at once. */
export function isPassing(error: unknown): error is CliError {
  return error instanceof UnreachableError || (error instanceof RefusedError && error.status === 429)
}
