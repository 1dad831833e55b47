import type { RefObject } from 'preact'
import { words } from '../words/en.js'
import type { LogModel } from './log-model.js'
import type { LogNews, LogSession } from './log-session.js'

const text = words.log

/** What the parts around the lines show, and what they work with. */
export interface ToolsProps {
  readonly news: LogNews
  readonly session: RefObject<LogSession | null>
}

interface BarProps extends ToolsProps {
  onFind(): void
  onHelp(): void
  /** What is shown alone; empty: everything; null: nothing tells which output is of what. */
  readonly outcomes: readonly string[] | null
  onOutcome(outcome: string): void
}

/** The line of buttons above the output. */
export function LogTools({ news, session, onFind, onHelp, outcomes, onOutcome }: BarProps) {
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
      {outcomes && (
        <>
          <button type="button" aria-pressed={news.times > 0} onClick={() => session.current?.toggleTimes()}>
            {text.times[news.times]}
          </button>
          {Object.entries(text.outcomes).map(([name, label]) => (
            <button type="button" key={name} aria-pressed={outcomes.includes(name)} onClick={() => onOutcome(name)}>
              {label}
            </button>
          ))}
        </>
      )}
      <button type="button" onClick={onHelp}>
        {text.keys}
      </button>
      {news.isApproximate && <span class="log-note">{text.approximate}</span>}
    </div>
  )
}
