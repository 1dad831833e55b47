import * as v from 'valibot'
import { ClientError, StrangeAnswerError, UnreachableError } from './errors.js'
import { failureOf } from './failure.js'
import { type Operations, operations } from './interface.gen.js'
import { readJson } from './json.js'
import type { Operation, RequestOptions } from './operation.js'
import { filledPath, send } from './send.js'

/** The right to speak to a server: a token, and how to get the next one. */
export interface Access {
  /** The token to try now; null: there is none yet. */
  readonly token: string | null
  /** Called when the server refused `token`, or there is none. What it throws is what the request fails with. */
  renew(): Promise<void>
}

/** Which server a client asks, and as whom. */
export interface ClientOptions {
  /** Address of the control plane without `/api/v2`, such as `https://jobs.example.com`. */
  readonly server: string
  /** An API token or an access token. Or an object that knows the current token and can get the next one. */
  readonly token?: string | Access
  /** Headers of every request, such as those of a page that is signed in by a cookie. */
  readonly headers?: Readonly<Record<string, string>>
  /** Exchanges the error of a request: it gets the error, and returns the one that the caller gets. */
  readonly errorOf?: (error: ClientError) => Error
}

/** Every operation of the interface as a function; each fails with a {@link ClientError}. */
export interface Client extends Operations {
  readonly server: string
}

type Request = Readonly<Record<string, unknown>>

/** A client of one server. It keeps nothing open between requests. */
export function createClient(options: ClientOptions): Client {
  const server = options.server.replace(/\/+$/, '')
  const { token, headers = {} } = options
  const access = token === undefined || typeof token === 'string' ? fixedAccess(token ?? null) : token

  async function call(operation: Operation, request: Request, given: RequestOptions): Promise<unknown> {
    try {
      const response = await open(operation, request, given)
      if (!operation.schema) return response
      return await readAnswer(server, said(operation, request), response, operation.schema, given.signal)
    } catch (error) {
      throw options.errorOf && error instanceof ClientError ? options.errorOf(error) : error
    }
  }

  async function open(operation: Operation, request: Request, given: RequestOptions): Promise<Response> {
    const ask = (bearer: string | null) => send({ server, headers }, operation, request, bearer, given)
    let response: Response
    if (operation.open) response = await ask(null)
    else {
      if (access.token === null) await access.renew()
      const tried = access.token
      response = await ask(tried)
      if (response.status === 401 && typeof token === 'object') {
        await response.body?.cancel()
        // Another request may have renewed the token while this answer was on its way.
        if (access.token === tried) await access.renew()
        response = await ask(access.token)
      }
    }
    if (response.status !== 200) throw await failureOf(server, said(operation, request), response)
    return response
  }

  const functions = Object.entries<Operation>(operations).map(([name, operation]) => [
    name,
    (request: Request = {}, given: RequestOptions = {}) => call(operation, request, given),
  ])
  return { server, ...(Object.fromEntries(functions) as Operations) }
}

/** Nobody renews this token. So when it is refused, the request fails. */
function fixedAccess(token: string | null): Access {
  return { token, renew: () => Promise.resolve() }
}

/** A request as errors name it: `GET /job/7`. */
function said({ method, path }: Operation, request: Request): string {
  return `${method} ${filledPath(path, request)}`
}

/** Reads a JSON answer and checks it. @throws StrangeAnswerError, UnreachableError */
async function readAnswer(
  server: string,
  request: string,
  response: Response,
  schema: v.GenericSchema,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const what = `the answer of ${server} to ${request}`
  const { status } = response
  let text: string
  try {
    text = await response.text()
  } catch (error) {
    if (signal?.aborted) throw error
    throw new UnreachableError(server, `${what} broke off`, { cause: error })
  }
  let value: unknown
  try {
    value = readJson(text)
  } catch (error) {
    throw new StrangeAnswerError(server, status, request, 'not JSON', `${what} is not JSON`, { cause: error })
  }
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  const path = v.getDotPath(issue)
  const message = `${what} is not understood (${path === null ? '' : `${path}: `}${issue.message})`
  throw new StrangeAnswerError(server, status, request, 'not understood', message)
}
