import type { RefObject } from 'preact'
import { logWords } from '../words/en-log.js'
import { Tool } from './log-icon.js'
import type { LogModel } from './log-model.js'
import type { LogNews, LogSession } from './log-session.js'
import type { OutcomeCounts } from './outcome-counts.js'

const text = logWords

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
  /** How often there is each of them; null: nobody counts them here. */
  readonly counts: OutcomeCounts | null
  onOutcome(outcome: string): void
}

/** The line of tools above the output. */
export function LogTools({ news, session, onFind, onHelp, outcomes, counts, onOutcome }: BarProps) {
  const act = (action: (model: LogModel) => void) => () => session.current && action(session.current.model)
  const isOpen = news.state.kind !== 'ended'
  return (
    <div class="log-tools" role="toolbar" aria-label={text.tools}>
      {outcomes && <Outcomes outcomes={outcomes} counts={counts} onOutcome={onOutcome} />}
      {news.isApproximate && <span class="log-note">{text.approximate}</span>}
      <span class="log-group">
        <Tool icon="find" name={text.find} onPress={onFind} />
        <Tool
          icon="follow"
          name={isOpen ? text.follow : text.toEnd}
          isPressed={isOpen ? news.isFollowing : undefined}
          onPress={act((model) => model.toEnd())}
        />
        <Tool icon="wrap" name={text.wrap} isPressed={news.isWrapped} onPress={act((model) => model.toggleWrap())} />
        {news.sections > 0 && news.folded === 0 && (
          <Tool icon="fold" name={text.foldAll} onPress={act((model) => model.foldAll())} />
        )}
        {news.folded > 0 && <Tool icon="unfold" name={text.unfoldAll} onPress={act((model) => model.unfoldAll())} />}
        {outcomes && (
          <Tool
            icon="times"
            name={text.times[news.times] ?? ''}
            isPressed={news.times > 0}
            onPress={() => session.current?.toggleTimes()}
          />
        )}
        <Tool icon="keys" name={text.keys} onPress={onHelp} />
      </span>
    </div>
  )
}

/** What the output tells of, with numbers. What it does not tell of is left out. */
function Outcomes({
  outcomes,
  counts,
  onOutcome,
}: Pick<BarProps, 'counts' | 'onOutcome'> & { readonly outcomes: readonly string[] }) {
  const names = Object.entries(text.outcomes) as [keyof OutcomeCounts, string][]
  return (
    <>
      {names.map(([name, label]) => {
        const isChosen = outcomes.includes(name)
        const count = counts?.[name] ?? null
        if (count === 0 && !isChosen) return null
        return (
          <button
            type="button"
            key={name}
            class={`log-outcome ${name}`}
            title={text.outcomeTitle(label)}
            aria-pressed={isChosen}
            onClick={() => onOutcome(name)}
          >
            {label}
            {count !== null && <b>{count.toLocaleString('en')}</b>}
          </button>
        )
      })}
    </>
  )
}
