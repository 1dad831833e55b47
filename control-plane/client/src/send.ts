import { UnreachableError } from './errors.js'
import { writeJson } from './json.js'
import type { Operation, RequestOptions } from './operation.js'
import { withTimeLimit } from './time-limit.js'

/** How long an ordinary request may take. Streams and uploads have no limit of their own. */
const REQUEST_TIMEOUT_MS = 60_000

/** Sends one request and gives back whatever was answered. @throws UnreachableError when nothing was */
export async function send(
  { server, headers: usual }: { readonly server: string; readonly headers: Readonly<Record<string, string>> },
  operation: Operation,
  request: Readonly<Record<string, unknown>>,
  token: string | null,
  options: RequestOptions,
): Promise<Response> {
  const { body } = request
  const headers = new Headers({ ...usual, accept: operation.accept })
  if (token !== null) headers.set('authorization', `Bearer ${token}`)
  const isForm = body instanceof FormData
  // The form says its own type, with its boundary.
  if (body !== undefined && !isForm) headers.set('content-type', 'application/json')
  const usualMs = isForm || !operation.schema ? null : REQUEST_TIMEOUT_MS
  const timeoutMs = options.timeoutMs === undefined ? usualMs : options.timeoutMs
  try {
    return await (options.fetch ?? fetch)(addressOf(server, operation, request), {
      method: operation.method,
      headers,
      body: isForm ? body : body === undefined ? undefined : writeJson(body),
      // A redirect would turn a POST into a GET and hide which server has the token.
      redirect: 'manual',
      signal: timeoutMs === null ? options.signal : withTimeLimit(timeoutMs, options.signal),
    })
  } catch (error) {
    if (options.signal?.aborted) throw error
    throw new UnreachableError(server, `${server} cannot be reached`, { cause: error })
  }
}

/** The path of an operation with its parameters. */
export function filledPath(path: string, request: Readonly<Record<string, unknown>>): string {
  return path.replace(/\{(\w+)\}/g, (_match, name: string) => encodeURIComponent(String(request[name])))
}

function addressOf(server: string, { path, query }: Operation, request: Readonly<Record<string, unknown>>): URL {
  const url = new URL(`${server}/api/v2${filledPath(path, request)}`)
  for (const name of query) {
    const value = request[name]
    if (value !== undefined) url.searchParams.set(name, String(value))
  }
  return url
}
