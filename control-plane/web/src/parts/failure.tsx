import { RedirectedError, RefusedError, StrangeAnswerError, UnavailableError, UnreachableError } from '@holdfast/client'
import { signal } from '@preact/signals'
import type { Details, wordsOfCode } from '../words/en-errors.js'
import { words } from '../words/en.js'

/** The words for the codes of the control plane. They are loaded when something goes wrong for the first time. */
const table = signal<typeof wordsOfCode | null>(null)
let isAsked = false

function loadWords() {
  if (isAsked) return
  isAsked = true
  import('../words/en-errors.js').then(
    (loaded) => (table.value = loaded.wordsOfCode),
    // The control plane is away, or is of another release by now. The next failure asks again.
    () => (isAsked = false),
  )
}

/** What went wrong, in words for people, with what helps to find it in the log. */
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

/**
 * What went wrong, for people. The sentences of the control plane are for those who write programs, so each code has words
 * of its own. @returns empty while the words are on their way
 */
export function sentenceOf(error: Error): string {
  if (error instanceof UnreachableError) return words.error.unreachable
  const said = error instanceof UnavailableError ? error.answer : error instanceof RefusedError ? error : null
  // Only errors of the client come from the control plane. The others were made for people.
  if (said === null && !(error instanceof UnavailableError))
    return isOfClient(error) ? words.error.strange : error.message
  return codeWords(said?.code ?? null, said?.details, (error as RefusedError | UnavailableError).status)
}

/** The words for a code. @returns empty while they are on their way */
export function codeWords(code: string | null, details: Details = {}, status = 400): string {
  loadWords()
  return table.value?.(code, details, status) ?? ''
}

const isOfClient = (error: Error) => error instanceof RedirectedError || error instanceof StrangeAnswerError

/** @param isPage the content of a page was asked for, and nothing was to be changed */
function titleOf(error: Error, isPage: boolean): string {
  if (!isPage) return words.error.failed
  if (error instanceof RefusedError && error.status === 404) return words.error.gone
  if (error instanceof RefusedError && error.status === 403) return words.error.forbidden
  return words.error.title
}
