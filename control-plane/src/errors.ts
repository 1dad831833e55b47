/**
 * The few ways in which a request can fail. `code` is a stable word for programs, the message one sentence for people.
 * Rooms throw these; only `http/server/errors.ts` knows which status each class means.
 */
export abstract class HoldfastError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly details?: Readonly<Record<string, unknown>>,
    options?: ErrorOptions,
  ) {
    super(message, options)
    this.name = new.target.name
  }
}

/** The request is malformed: a wrong type, a missing field, an id that is no number. */
export class InvalidInputError extends HoldfastError {}

/** No token, or one that is wrong or expired; or a sign-in with wrong credentials. */
export class UnauthenticatedError extends HoldfastError {}

/** The caller's roles do not allow it. */
export class ForbiddenError extends HoldfastError {}

/** There is no such thing, or none that the caller could ever see. */
export class NotFoundError extends HoldfastError {}

/** The state of the thing does not allow the action. */
export class ConflictError extends HoldfastError {}

/** The values of a form were refused. */
export class RefusedValuesError extends HoldfastError {}

/** More bytes than the service takes. */
export class TooLargeError extends HoldfastError {}

/** The range that was asked for begins behind the end. */
export class UnsatisfiableRangeError extends HoldfastError {
  /** @param length bytes that there are */
  constructor(length: number) {
    super('range_not_satisfiable', `There are only ${length} bytes`, { length })
  }
}

/** Too many tries; `retryAfterSeconds` says when to come back. */
export class TooManyError extends HoldfastError {
  constructor(
    code: string,
    message: string,
    readonly retryAfterSeconds: number,
  ) {
    super(code, message)
  }
}

/** The service cannot answer now (stopping, database away); nothing was changed. */
export class UnavailableError extends HoldfastError {}

/** Another control plane works on the same database file. */
export class DatabaseHeldError extends HoldfastError {}

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
