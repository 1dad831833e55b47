import * as v from 'valibot'
import { firstIssue } from '@holdfast/protocol'
import { NotSignedInError, RefusedError, StrangeAnswerError, UnreachableError, UsageError } from '../errors.js'
import { errorAnswerSchema } from './schemas.js'
import { withTimeLimit } from './time-limit.js'

/** How long an ordinary request may take; streams have no limit of their own. */
const REQUEST_TIMEOUT_MS = 60_000

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface HttpRequest {
  readonly method: Method
  /** Below `<server>/api/v2`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  readonly body?: unknown
  readonly token?: string | null
  readonly accept?: string
  readonly signal?: AbortSignal
  /** True for answers that stay open. */
  readonly stream?: boolean
}

/** Sends one request and gives back whatever was answered. @throws UnreachableError when nothing was */
export async function send(server: string, request: HttpRequest): Promise<Response> {
  const url = new URL(`${server}/api/v2${request.path}`)
  for (const [name, value] of Object.entries(request.query ?? {})) {
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  const headers = new Headers({ accept: request.accept ?? 'application/json' })
  if (request.token) headers.set('authorization', `Bearer ${request.token}`)
  if (request.body !== undefined) headers.set('content-type', 'application/json')
  try {
    return await fetch(url, {
      method: request.method,
      headers,
      body: request.body === undefined ? undefined : JSON.stringify(request.body),
      // A redirect would turn a POST into a GET and hide which server has the token.
      redirect: 'manual',
      signal: request.stream ? request.signal : withTimeLimit(REQUEST_TIMEOUT_MS, request.signal),
    })
  } catch (error) {
    throw request.signal?.aborted ? error : unreachable(server, error)
  }
}

/** What failed below HTTP, in words. Also for a body that breaks off. */
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

/** Turns an answer other than success into the error that ends the command. */
export async function failureOf(server: string, request: HttpRequest, response: Response): Promise<Error> {
  const said = await readError(response)
  const sentence = said?.error ? endWithDot(said.error) : null
  if (response.status === 401) {
    return new NotSignedInError(`${sentence ?? 'Not signed in.'} Sign in with: holdfast login --server ${server}`)
  }
  if (response.status >= 500) {
    const id = response.headers.get('x-request-id')
    return new UnreachableError(
      `${server} cannot answer now (${response.status}${id ? `, request ${id}` : ''}): ` +
        `${sentence ?? 'no reason given.'} Try again later; its log says more.`,
    )
  }
  if (response.status >= 300 && response.status < 400) {
    const target = response.headers.get('location') ?? 'another address'
    return new UsageError(`${server} redirects to ${target}. Name the final address with --server.`)
  }
  if (!said) {
    const what = `${request.method} ${request.path}`
    return new StrangeAnswerError(
      `${server} answered ${response.status} to ${what} without saying why. Is it a Holdfast server?`,
    )
  }
  const wait = response.headers.get('retry-after')
  const advice = response.status === 429 && wait ? ` Try again in ${wait} s.` : ''
  return new RefusedError(`${sentence ?? 'Refused.'}${detailsOf(said.details)}${advice}`, response.status, said.code)
}

async function readError(response: Response): Promise<v.InferOutput<typeof errorAnswerSchema> | null> {
  try {
    const result = v.safeParse(errorAnswerSchema, await response.json())
    return result.success ? result.output : null
  } catch {
    return null
  }
}

function detailsOf(details: unknown): string {
  if (details === undefined || details === null) return ''
  return ` (${typeof details === 'string' ? details : JSON.stringify(details)})`
}

function endWithDot(sentence: string): string {
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}

/** Reads a JSON answer against a schema. @throws StrangeAnswerError, UnreachableError */
export async function readJson<Schema extends v.GenericSchema>(
  server: string,
  request: HttpRequest,
  response: Response,
  schema: Schema,
): Promise<v.InferOutput<Schema>> {
  const what = `the answer of ${server} to ${request.method} ${request.path}`
  let text: string
  try {
    text = await response.text()
  } catch (error) {
    throw unreachable(server, error)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new StrangeAnswerError(`${what} is not JSON. Is it a Holdfast server?`, { cause: error })
  }
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  throw new StrangeAnswerError(
    `This client does not understand ${what} (${firstIssue(result.issues)}). Use the client of the server's version.`,
  )
}
