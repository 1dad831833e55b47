import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { logWords } from '../words/en-log.js'
import type { FindProps } from './extras-props.js'
import { Tool } from './log-icon.js'

const text = logWords

/** Longest pattern: the browser reads groups in groups by recursion. */
const MAX_PATTERN = 1_000

/** Why a text is no regular expression; null: it is one. */
function problemOf(pattern: string): string | null {
  try {
    if (pattern.length > MAX_PATTERN) return text.longPattern(MAX_PATTERN)
    return new RegExp(pattern) && null
  } catch (error) {
    // Some browsers repeat the pattern before what is wrong with it.
    return String(error).replace(/^.*: /s, '')
  }
}

/** The field to find words or patterns, and what was found. */
export function LogFind({ news, session, sought, onClose }: FindProps) {
  const field = useRef<HTMLInputElement>(null)
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null)
  const how = useRef({ matchCase: sought?.matchCase ?? false, isPattern: sought?.isPattern ?? false })
  const [problem, setProblem] = useState<string | null>(null)
  const model = () => session.current?.model
  // This has to happen before the next key comes, because its letter belongs into the field.
  useLayoutEffect(() => {
    if (!sought) field.current?.focus()
  }, [])

  function look(): void {
    if (waiting.current !== null) clearTimeout(waiting.current)
    waiting.current = null
    const word = field.current?.value ?? ''
    const wrong = how.current.isPattern ? problemOf(word) : null
    setProblem(wrong)
    // What was found before stays.
    if (wrong === null) model()?.find({ word, ...how.current })
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

  const toggle = (name: 'matchCase' | 'isPattern') => () => {
    how.current = { ...how.current, [name]: !how.current[name] }
    look()
  }

  const { currentHit, hits, isSearched, isOnly, isSlow } = news
  const sentence = problem === null ? (isSlow ? text.slowPattern : null) : text.wrongPattern(problem)
  return (
    <form class="log-find" role="search" onSubmit={(event) => event.preventDefault()}>
      <input
        ref={field}
        type="search"
        defaultValue={sought?.word}
        aria-label={text.findLabel}
        aria-invalid={problem !== null}
        autocomplete="off"
        spellcheck={false}
        onInput={lookSoon}
        onKeyDown={press}
      />
      <Tool icon="letters" name={text.matchCase} isPressed={how.current.matchCase} onPress={toggle('matchCase')} />
      <Tool icon="pattern" name={text.isPattern} isPressed={how.current.isPattern} onPress={toggle('isPattern')} />
      <Tool icon="only" name={text.only} isPressed={isOnly} onPress={() => model()?.showOnly(!isOnly)} />
      <Tool icon="previous" name={text.previous} onPress={() => model()?.moveHit(-1)} />
      <Tool icon="next" name={text.next} onPress={() => model()?.moveHit(1)} />
      <Tool icon="close" name={text.close} onPress={onClose} />
      <span role="status" class={sentence === null ? undefined : 'log-problem'}>
        {sentence ?? (field.current?.value && text.hits(currentHit, hits, isSearched, isOnly))}
      </span>
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
