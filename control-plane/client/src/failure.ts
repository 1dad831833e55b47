import * as v from 'valibot'
import { type ClientError, RedirectedError, RefusedError, StrangeAnswerError, UnavailableError } from './errors.js'
import { type ErrorAnswer, errorSchema } from './interface.gen.js'

/** Turns an answer other than success into the error that the request fails with. */
export async function failureOf(server: string, request: string, response: Response): Promise<ClientError> {
  const { status, headers } = response
  const answer = await readError(response)
  if (status >= 500) return new UnavailableError(server, status, answer, headers.get('x-request-id'))
  if (status >= 300 && status < 400) return new RedirectedError(server, headers.get('location'))
  // The status 401 is always about the token, whatever the body says.
  const said = answer ?? (status === 401 ? { error: 'Not signed in' } : null)
  if (!said) {
    const message = `${server} answered ${status} to ${request} without saying why`
    return new StrangeAnswerError(server, status, request, 'no reason', message)
  }
  const wait = Number(headers.get('retry-after') ?? Number.NaN)
  return new RefusedError(server, status, said, Number.isFinite(wait) ? wait : null)
}

async function readError(response: Response): Promise<ErrorAnswer | null> {
  try {
    const result = v.safeParse(errorSchema, await response.json())
    return result.success ? result.output : null
  } catch {
    return null
  }
}
