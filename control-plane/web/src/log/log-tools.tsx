import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { words } from '../words/en.js'
import type { LogModel } from './log-model.js'
import type { LogNews, LogSession } from './log-session.js'

const text = words.log

interface ToolsProps {
  readonly news: LogNews
  readonly session: RefObject<LogSession | null>
}

/** The line of buttons above the output. */
export function LogTools({ news, session, onFind, onHelp }: ToolsProps & { onFind(): void; onHelp(): void }) {
  const act = (action: (model: LogModel) => void) => () => session.current && action(session.current.model)
  const isOpen = news.state.kind !== 'ended'
  return (
    <div class="log-tools" role="toolbar" aria-label={text.tools}>
      <button
        type="button"
        aria-pressed={isOpen ? news.isFollowing : undefined}
        onClick={act((model) => model.toEnd())}
      >
        {isOpen ? text.follow : text.toEnd}
      </button>
      <button type="button" aria-pressed={news.isWrapped} onClick={act((model) => model.toggleWrap())}>
        {text.wrap}
      </button>
      {news.sections > 0 && news.folded === 0 && (
        <button type="button" onClick={act((model) => model.foldAll())}>
          {text.foldAll}
        </button>
      )}
      {news.folded > 0 && (
        <button type="button" onClick={act((model) => model.unfoldAll())}>
          {text.unfoldAll}
        </button>
      )}
      <button type="button" onClick={onFind}>
        {text.find}
      </button>
      <CopyLines news={news} session={session} />
      <button type="button" onClick={onHelp}>
        {text.keys}
      </button>
      {news.isApproximate && <span class="log-note">{text.approximate}</span>}
    </div>
  )
}

function CopyLines({ news: { marked }, session }: ToolsProps) {
  const [isCopied, setCopied] = useState(false)
  if (!marked) return null
  const copy = async () => {
    await navigator.clipboard.writeText(session.current?.textOf(marked) ?? '')
    setCopied(true)
    setTimeout(setCopied, 2_000, false)
  }
  return (
    <button type="button" onClick={() => void copy()}>
      {isCopied ? text.copied : text.copyLines(marked.to - marked.from + 1)}
    </button>
  )
}

/** The field to find words, and what was found. */
export function LogFind({ news, session, onClose }: ToolsProps & { onClose(): void }) {
  const field = useRef<HTMLInputElement>(null)
  const exact = useRef<HTMLInputElement>(null)
  const waiting = useRef<ReturnType<typeof setTimeout> | null>(null)
  const model = () => session.current?.model
  // This has to happen before the next key comes, because its letter belongs into the field.
  useLayoutEffect(() => field.current?.focus(), [])

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
        aria-label={text.findLabel}
        autocomplete="off"
        spellcheck={false}
        onInput={lookSoon}
        onKeyDown={press}
      />
      <label class="check">
        <input ref={exact} type="checkbox" onChange={look} /> {text.matchCase}
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

/** The keys of the output, and whether those of one letter are on. */
export function LogKeys({ dialog, hasLetters, onLetters }: KeysProps) {
  return (
    <dialog ref={dialog} class="log-keys" aria-label={text.keysTitle}>
      <h2>{text.keysTitle}</h2>
      <table>
        <tbody>
          {text.keyTable.map(([key, meaning]) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{meaning}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <label class="check">
        <input type="checkbox" checked={hasLetters} onChange={(event) => onLetters(event.currentTarget.checked)} />{' '}
        {text.keysOn}
      </label>
      <form method="dialog">
        <button>{text.close}</button>
      </form>
    </dialog>
  )
}

interface KeysProps {
  readonly dialog: RefObject<HTMLDialogElement | null>
  readonly hasLetters: boolean
  onLetters(isOn: boolean): void
}
