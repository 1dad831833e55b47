import { EXIT, type ExitCode } from './exit-codes.js'

/** An error that ends the command. Its message says to the person at the terminal what to do next. */
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

/** The server does not answer, or says that it cannot answer now. A command that follows a job tries again then. */
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

/** The server refused the request. `status` is of HTTP, `code` its stable word for programs, `refusal` its details. */
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

/** Nothing has the name or id that was given. The exit code is the same as when the server says so. */
export class UnknownNameError extends CliError {
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

/** The person pressed Ctrl-C. */
export class InterruptedError extends CliError {
  constructor(message: string) {
    super(EXIT.interrupted, message)
  }
}

/** Whether a later try can succeed: the server does not answer, or it was asked too often. */
export function isPassingFailure(error: unknown): error is CliError {
  return error instanceof UnreachableError || (error instanceof RefusedError && error.status === 429)
}
