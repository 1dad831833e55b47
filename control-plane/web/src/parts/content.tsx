import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import type { Answer } from '../live/answer.js'
import { words } from '../words/en.js'
import { Failure } from './failure.js'

/** The name of a page, also in the title of the tab. */
export function PageTitle({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  useEffect(() => {
    document.title = words.title(text)
  }, [text])
  return (
    <div class="title">
      <h1>{text}</h1>
      {children}
    </div>
  )
}

/** Shows an answer, or that it is on its way, or why there is none. An older answer stays visible meanwhile. */
export function Content<Value>({
  answer,
  children,
}: {
  readonly answer: Answer<Value>
  readonly children: (value: Value) => ComponentChildren
}) {
  const { value, error, isLoading, reload } = answer
  return (
    <>
      {error && <Failure error={error} retry={reload} />}
      {value !== null ? children(value) : isLoading && <Loading />}
    </>
  )
}

/** Grey lines where the content will be. They come after a moment. */
function Loading() {
  return (
    <p class="loading" role="status">
      <span class="hidden">{words.loading}</span>
    </p>
  )
}

/** Nothing to show, why, and what to do. */
export function Empty({ text, children }: { readonly text: string; readonly children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p>{text}</p>
      {children}
    </div>
  )
}
