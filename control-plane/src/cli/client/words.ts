import * as api from '@holdfast/client'
import { refusalText } from '../refusal-text.js'
import {
  type CliError,
  NotSignedInError,
  RefusedError,
  StrangeAnswerError,
  UnreachableError,
  UsageError,
} from '../errors.js'

/** Turns an error of the client into the error that ends the command, in words for the person at the terminal. */
export function cliErrorOf(error: api.ClientError): CliError {
  const { server } = error
  if (error instanceof api.UnreachableError) return unreachable(server, error.cause)
  if (error instanceof api.RedirectedError) {
    return new UsageError(`${error.message}. Name the final address with --server.`)
  }
  if (error instanceof api.UnavailableError) {
    const id = error.requestId
    return new UnreachableError(
      `${server} cannot answer now (${error.status}${id ? `, request ${id}` : ''}): ` +
        `${error.answer ? endWithDot(error.answer.error) : 'no reason given.'} Try again later; its log says more.`,
    )
  }
  if (error instanceof api.RefusedError) return refused(error)
  const advice =
    error instanceof api.StrangeAnswerError && error.problem === 'not understood'
      ? "Use the client of the server's version."
      : 'Is it a Holdfast server?'
  return new StrangeAnswerError(`This client does not understand the server: ${error.message}. ${advice}`, {
    cause: error,
  })
}

function refused(error: api.RefusedError): CliError {
  const sentence = endWithDot(error.sentence)
  if (error.status === 401) {
    return new NotSignedInError(`${sentence} Sign in with: holdfast login --server ${error.server}`)
  }
  const wait = error.status === 429 && error.retryAfterSeconds !== null
  const advice = wait ? ` Try again in ${error.retryAfterSeconds} s.` : ''
  const { details } = error
  if (details === undefined) return new RefusedError(`${sentence}${advice}`, error.status, error.code)
  const refusal = { sentence: `${sentence}${advice}`, details }
  return new RefusedError(refusalText(refusal), error.status, error.code, refusal)
}

/** The error for a connection that failed, also in the middle of an answer. @param error what Node.js says of it */
export function unreachable(server: string, error: unknown): UnreachableError {
  return new UnreachableError(
    `Cannot reach ${server}: ${reasonOf(error)}. Is the control plane running there? ` +
      'Name another server with --server or HOLDFAST_SERVER.',
    { cause: error },
  )
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
  if (!(cause instanceof Error)) return String(cause)
  const code = (cause as NodeJS.ErrnoException).code ?? ''
  if (code === 'ECONNREFUSED') return 'connection refused'
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'there is no host of that name'
  if (cause.name === 'TimeoutError') return 'no answer in time'
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY/.test(code)) {
    return `its certificate is not trusted (${code}; set NODE_EXTRA_CA_CERTS to the file of its authority)`
  }
  // Some errors of the connection have only a code.
  return cause.message || code || cause.name
}

function endWithDot(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
