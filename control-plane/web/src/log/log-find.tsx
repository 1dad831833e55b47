import { useLayoutEffect, useRef } from 'preact/hooks'
import { words } from '../words/en.js'
import type { FindProps } from './extras-props.js'

const text = words.log

/** The field to find words, and what was found. */
export function LogFind({ news, session, sought, onClose }: FindProps) {
  const field = useRef<HTMLInputElement>(null)
  const exact = useRef<HTMLInputElement>(null)
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null)
  const model = () => session.current?.model
  // This has to happen before the next key comes, because its letter belongs into the field.
  useLayoutEffect(() => {
    if (!sought) field.current?.focus()
  }, [])

  function look(): void {
    if (waiting.current !== null) clearTimeout(waiting.current)
    waiting.current = null
    model()?.find(field.current?.value ?? '', exact.current?.checked ?? false)
  }

  /** The search begins when the typing has paused. */
  function lookSoon(): void {
    if (waiting.current !== null) clearTimeout(waiting.current)
    waiting.current = setTimeout(look, 200)
  }

  function press(event: KeyboardEvent): void {
    if (event.key === 'Escape') onClose()
    else if (event.key === 'Enter') {
      if (waiting.current !== null) look()
      else model()?.moveHit(event.shiftKey ? -1 : 1)
    } else return
    event.preventDefault()
  }

  return (
    <form class="log-find" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        ref={field}
        type="search"
        defaultValue={sought?.word}
        aria-label={text.findLabel}
        autocomplete="off"
        spellcheck={false}
        onInput={lookSoon}
        onKeyDown={press}
      />
      <label class="check">
        <input ref={exact} type="checkbox" defaultChecked={sought?.matchCase} onChange={look} /> {text.matchCase}
      </label>
      <span role="status">{field.current?.value && text.hits(news.currentHit, news.hits, news.isSearched)}</span>
      <button type="button" onClick={() => model()?.moveHit(-1)}>
        {text.previous}
      </button>
      <button type="button" onClick={() => model()?.moveHit(1)}>
        {text.next}
      </button>
      <button type="button" onClick={onClose}>
        {text.close}
      </button>
    </form>
  )
}

/** Where hits are, beside the scrollbar. */
export function HitMarks({ marks }: { readonly marks: readonly number[] }) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    for (const [at, mark] of [...(place.current?.children ?? [])].entries()) {
      if (mark instanceof HTMLElement) mark.style.top = `${(marks[at] ?? 0) * 100}%`
    }
  }, [marks])
  return (
    <div ref={place} class="log-marks" aria-hidden="true">
      {marks.map((mark) => (
        <span key={mark} />
      ))}
    </div>
  )
}
