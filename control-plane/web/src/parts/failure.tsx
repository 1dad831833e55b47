import { RefusedError, UnavailableError, UnreachableError } from '@holdfast/client'
import { words } from '../words/en.js'

/** What went wrong, in the words of the control plane, with what helps to find it in the log. */
export function Failure({ error, retry }: { readonly error: Error; readonly retry?: () => void }) {
  return (
    <div class="notice bad" role="alert">
      <strong>{titleOf(error, retry !== undefined)}</strong>
      <p>{sentenceOf(error)}</p>
      {error instanceof RefusedError && error.code !== null && <p class="soft mono">{words.error.code(error.code)}</p>}
      {error instanceof UnavailableError && error.requestId !== null && (
        <p class="soft mono">{words.error.request(error.requestId)}</p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          {words.tryAgain}
        </button>
      )}
    </div>
  )
}

/** The control plane's own sentence. */
export function sentenceOf(error: Error): string {
  if (error instanceof RefusedError) return error.sentence
  return error instanceof UnreachableError ? words.error.unreachable : error.message
}

/** @param isPage the content of a page was asked for, and nothing was to be changed */
function titleOf(error: Error, isPage: boolean): string {
  if (!isPage) return words.error.failed
  if (error instanceof RefusedError && error.status === 404) return words.error.gone
  if (error instanceof RefusedError && error.status === 403) return words.error.forbidden
  return words.error.title
}
