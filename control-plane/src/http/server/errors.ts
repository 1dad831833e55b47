import { randomUUID } from 'node:crypto'
import { type IncomingMessage, STATUS_CODES, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  ConflictError,
  ForbiddenError,
  HoldfastError,
  InvalidInputError,
  NotFoundError,
  RefusedValuesError,
  TooLargeError,
  TooManyError,
  UnauthenticatedError,
  UnavailableError,
  UnsatisfiableRangeError,
} from '../../errors.js'

/**
 * `Cache-Control` of every answer that does not say something else, such as the files of the pages. Neither a proxy nor the
 * disk of a browser keeps what one person may read, and an error is not shown again later.
 */
export const PRIVATE = 'no-store'

interface Failure {
  readonly status: number
  readonly code: string
  readonly error: string
  readonly details?: Readonly<Record<string, unknown>>
}

/** The path exists, but not with this method. */
export class WrongMethodError extends HoldfastError {
  constructor(method: string, methods: readonly string[]) {
    super('method_not_allowed', `This path takes ${methods.join(', ')}, not ${method}`)
  }
}

/** The status of each class of errors. Only this table knows it. */
const STATUS_OF_CLASS: readonly (readonly [abstract new (...args: never[]) => HoldfastError, number])[] = [
  [InvalidInputError, 400],
  [UnauthenticatedError, 401],
  [ForbiddenError, 403],
  [NotFoundError, 404],
  [WrongMethodError, 405],
  [ConflictError, 409],
  [TooLargeError, 413],
  [RefusedValuesError, 422],
  [UnsatisfiableRangeError, 416],
  [TooManyError, 429],
  [UnavailableError, 503],
]

/** Errors of the framework that clients see often, with texts of this service. */
const FRAMEWORK_FAILURES: Readonly<Record<string, Omit<Failure, 'details'>>> = {
  FST_ERR_CTP_INVALID_JSON_BODY: { status: 400, code: 'invalid_json', error: 'The body is not valid JSON' },
  FST_ERR_CTP_BODY_TOO_LARGE: { status: 413, code: 'body_too_large', error: 'The body is too large' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    status: 415,
    code: 'unsupported_media_type',
    error: 'The body must be JSON (Content-Type: application/json) or a form (application/x-www-form-urlencoded)',
  },
  FST_ERR_BAD_URL: { status: 400, code: 'invalid_path', error: 'The path is not a valid URL path' },
  FST_ERR_MAX_PARAM_LENGTH: { status: 404, code: 'not_found', error: 'There is nothing at this path' },
}

/**
 * The texts for errors of the database. Its own messages name addresses, files and users, and everybody can see the
 * answer (a sign-in reads the database). So its own messages go to the log only.
 */
const DATABASE_FAILURES: Readonly<Record<string, string>> = {
  database_unavailable: 'The database is not available now; try again later',
  database_answer_lost:
    'The database went away while this was stored, and whether it was is not known; look before you try again',
  database_unreachable: 'The database cannot be reached now; try again later',
  database_not_writable: 'The database cannot be written now; try again later',
}

const INTERNAL: Failure = { status: 500, code: 'internal', error: 'Something went wrong inside the service' }

/**
 * Gives every error answer the form `{error, code, details?}`. Node.js would answer some requests by itself and in another
 * form: bytes that are not HTTP, an unknown `Expect`, an upgrade to another protocol. The functions below and
 * `upgrades.ts` answer these.
 */
export function registerErrorHandling(app: FastifyInstance): void {
  app.setErrorHandler((error: Error, request, reply) => sendError(error, request, reply))
  app.setNotFoundHandler((request, reply) => sendError(unknownRoute(), request, reply))
}

/** The error for an unknown path. */
export function unknownRoute(): NotFoundError {
  return new NotFoundError('unknown_route', 'There is nothing at this path')
}

/**
 * Whether the client closed the connection in the middle of its request. This is not a failure of the service. Only the
 * error of the request itself counts, because a directory or provider that closes its connection has the same error
 * code.
 */
function hasGone(error: Error, request: FastifyRequest): boolean {
  return request.raw.errored === error && 'code' in error && error.code === 'ECONNRESET'
}

/**
 * Answers a request with an error. A failure of the service itself is logged completely, and the answer shows nothing
 * of it.
 */
export function sendError(error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const failure = failureOf(error)
  if (hasGone(error, request)) request.log.info('the client went away before its request was whole')
  else if (failure.status >= 500) request.log.error({ err: error }, 'request failed')
  if (failure.status === 401) void reply.header('www-authenticate', 'Bearer')
  if (error instanceof TooManyError) void reply.header('retry-after', String(error.retryAfterSeconds))
  // Errors of the framework may come before any hook has run.
  void reply.headers({ 'x-request-id': request.id, 'cache-control': PRIVATE })
  return reply.status(failure.status).send(bodyOf(failure))
}

/** Answers bytes that are not an HTTP request (`clientErrorHandler` of the server), then closes the socket. */
export function answerBrokenRequest(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) {
    socket.destroy()
    return
  }
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? 431 : error.code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : 400
  socket.end(lastAnswer(status, { error: 'The request is not valid HTTP', code: 'invalid_request' }))
}

/** Answers a request whose body does not arrive, and closes its socket whatever the other side does. */
export function answerStalledRequest(socket: Socket): void {
  if (socket.writable) socket.write(lastAnswer(408, { error: 'The body did not come', code: 'body_stalled' }))
  socket.destroySoon()
}

/** The last answer on a connection, written without the framework. */
function lastAnswer(status: number, failure: { readonly error: string; readonly code: string }): string {
  const body = JSON.stringify(failure)
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\ncontent-type: application/json; charset=utf-8\r\ncache-control: ${PRIVATE}\r\n` +
    `content-length: ${Buffer.byteLength(body)}\r\nx-request-id: ${randomUUID()}\r\nconnection: close\r\n\r\n${body}`
  )
}

/** Answers `CONNECT` with an error: this service is no proxy. Node.js would close the connection without an answer. */
export function refuseTunnels(app: FastifyInstance): void {
  const server = app.server as Server
  server.on('connect', (_request: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy())
    // Otherwise the other side could keep its half of the connection open.
    socket.once('finish', () => socket.destroy())
    socket.end(lastAnswer(405, { error: 'This service is no proxy', code: 'method_not_allowed' }))
  })
}

/** Answers `Expect` headers other than `100-continue` with an error. Node.js would refuse them without a body. */
export function refuseExpectations(app: FastifyInstance): void {
  const server = app.server as Server
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const body = { error: 'The header Expect asks for what this service cannot do', code: 'expectation_failed' }
    response.writeHead(417, {
      'content-type': 'application/json; charset=utf-8',
      'cache-control': PRIVATE,
      'x-request-id': randomUUID(),
      connection: 'close',
    })
    response.end(JSON.stringify(body))
  })
}

function failureOf(error: Error & Partial<FastifyError>): Failure {
  if (error instanceof HoldfastError) {
    const status = STATUS_OF_CLASS.find(([type]) => error instanceof type)?.[1]
    if (status === undefined) return INTERNAL
    const message = DATABASE_FAILURES[error.code] ?? error.message
    return { status, code: error.code, error: message, details: error.details }
  }
  const known = error.code === undefined ? undefined : FRAMEWORK_FAILURES[error.code]
  if (known) return known
  if (error.validation) {
    const fields = error.validation.map(({ instancePath, message }) => ({ path: instancePath, message: message ?? '' }))
    return { status: 400, code: 'invalid_input', error: error.message, details: { fields } }
  }
  const status = error.statusCode
  // An error that the framework or a plugin blames on the client keeps its own text.
  if (status !== undefined && status >= 400 && status < 500) {
    return { status, code: (error.code ?? 'refused').toLowerCase(), error: error.message }
  }
  return INTERNAL
}

function bodyOf(failure: Failure): { error: string; code: string; details?: Readonly<Record<string, unknown>> } {
  return failure.details === undefined
    ? { error: failure.error, code: failure.code }
    : { error: failure.error, code: failure.code, details: failure.details }
}
