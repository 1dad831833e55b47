import { complaintsAbout } from '../support/contract.js'
import { type WireAnswer, staysOpen } from './answers.js'
import type { Draft } from './draft.js'

/** Refusals that come before a request has an operation: only their shape is promised. */
const BEFORE_ANY_OPERATION = /"code":"(host_missing|expectation_failed|invalid_path|invalid_request|unknown_route)"/

/** Requests whose target or method is none of the document's, so that nobody can say which operation they are. */
const OTHER_TARGET = /^(path with more|path in other words|another method|id that is none)$/

/** Holds the answer of a request that is one of the document's operations against the document. */
export function contractProblems(draft: Draft, answer: WireAnswer): string[] {
  const text = answer.body.toString('utf8')
  if (draft.operation === null || OTHER_TARGET.test(draft.twist) || BEFORE_ANY_OPERATION.test(text)) return []
  const headers = new Headers()
  for (const [name, value] of answer.headers) headers.set(name, value)
  const { method, path } = draft
  const isEndless = staysOpen(headers)
  // Not parsed: that would take `%2e%2e` for a way up, which the service does not.
  const url = { origin: 'http://fuzz.example', pathname: path.split('?', 1)[0] ?? '' }
  return complaintsAbout({ method, url, status: answer.status, headers, body: isEndless ? undefined : text })
}
