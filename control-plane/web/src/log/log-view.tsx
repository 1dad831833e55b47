import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { outputOf } from '../live/job-output.js'
import { hasLetterKeys } from '../live/letter-keys.js'
import type { OutputSource } from '../live/output-source.js'
import { sentenceOf as wordsOf } from '../parts/failure.js'
import { timeText } from '../parts/time.js'
import { logWords } from '../words/en-log.js'
import type { ExtraParts, LogViewProps, MoreActions } from './extras-props.js'
import type { MoreAction } from './keys.js'
import { type LogNews, type LogSession, keptState, startLog } from './log-session.js'
import { NOTHING_SOUGHT } from './log-model.js'
import { NO_COUNTS } from './outcome-counts.js'
import { LogTools } from './log-tools.js'

const text = logWords

/** The status line speaks at most this often, in milliseconds. */
const SPEAK_MS = 10_000

/** What is not needed for the first lines is loaded so many milliseconds after them. */
const MORE_MS = 100

const NOTHING: LogNews = {
  lines: 0,
  bytes: 0,
  state: { kind: 'reading' },
  isFollowing: true,
  newLines: 0,
  isWrapped: false,
  isApproximate: false,
  sections: 0,
  folded: 0,
  hits: 0,
  currentHit: -1,
  isSearched: false,
  isOnly: false,
  isSlow: false,
  counts: NO_COUNTS,
  marks: [],
  times: 0,
  generation: 0,
}

/** The output of a job: only a window of it is ever on the page, however long it is. */
export function LogView(view: LogViewProps) {
  const { jobId, bytes, events, isOver, source: given } = view
  const [news, setNews] = useState(NOTHING)
  // A word that was looked for before the page was loaded again.
  const sought = useRef(keptState()?.sought?.word ? (keptState()?.sought ?? null) : null)
  const [isFinding, setFinding] = useState(sought.current !== null)
  const { parts, actions, ask } = useParts(view.more)
  const scroller = useRef<HTMLDivElement>(null)
  const space = useRef<HTMLDivElement>(null)
  const sheet = useRef<HTMLDivElement>(null)
  const session = useRef<LogSession>(null)
  const source: OutputSource = useMemo(() => given ?? outputOf(jobId), [jobId, given])

  useLayoutEffect(() => {
    if (!scroller.current || !space.current || !sheet.current) return
    const started = startLog(
      { scroller: scroller.current, space: space.current, sheet: sheet.current },
      source,
      { find: () => setFinding(true), more: ask, hasLetters: () => hasLetterKeys.peek() },
      (next) => setNews((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next)),
      isOver,
    )
    session.current = started
    return () => {
      session.current = null
      started.dispose()
    }
  }, [source])
  useEffect(() => session.current?.expect(bytes), [bytes])
  useLayoutEffect(() => session.current?.fit(), [news.times])

  function closeFind(): void {
    session.current?.model.find(NOTHING_SOUGHT)
    sought.current = null
    setFinding(false)
    scroller.current?.focus()
  }

  return (
    <div class="log">
      <LogTools
        news={news}
        session={session}
        onFind={() => setFinding(true)}
        onHelp={() => ask('keys')}
        outcomes={events > 0 ? view.outcomes : null}
        counts={view.isLimited ? null : news.counts}
        onOutcome={view.onOutcome}
      />
      {isFinding && parts && (
        <parts.LogFind news={news} session={session} sought={sought.current} onClose={closeFind} />
      )}
      <div class="log-frame">
        <div
          ref={scroller}
          class={`log-scroller${news.isWrapped ? ' log-wrapped' : ''}${news.times ? ' log-timed' : ''}`}
          role="region"
          aria-label={text.label}
          tabIndex={0}
          onKeyDown={(event) => session.current?.press(event) && event.preventDefault()}
        >
          <div ref={space} class="log-space">
            <div ref={sheet} class="log-sheet" />
          </div>
        </div>
        {parts && <parts.HitMarks marks={news.marks} />}
        {news.newLines > 0 && news.state.kind !== 'ended' && (
          <button type="button" class="log-new" onClick={() => session.current?.model.toEnd()}>
            {text.newLines(news.newLines)}
          </button>
        )}
      </div>
      <LogStatus news={news} isPart={given !== undefined}>
        {parts && (
          <parts.LogExtras key={news.generation} view={view} session={session} scroller={scroller} actions={actions} />
        )}
      </LogStatus>
    </div>
  )
}

/** Loads what is not needed for the first lines, after them or when somebody asks for it. */
function useParts(more: LogViewProps['more']) {
  const [parts, setParts] = useState<ExtraParts | null>(null)
  const actions = useRef<MoreActions>({ act: null, wanted: null }).current
  const load = () => void more().then(setParts, () => undefined)
  useEffect(() => {
    const timer = setTimeout(load, MORE_MS)
    return () => clearTimeout(timer)
  }, [])
  function ask(action: MoreAction): void {
    actions.wanted = action
    if (actions.act) actions.act()
    else load()
  }
  return { parts, actions, ask }
}

/**
 * How much output there is, and the state of the reading. People see it at once. A screen reader says it from time to
 * time.
 */
function LogStatus({
  news,
  isPart,
  children,
}: {
  readonly news: LogNews
  readonly isPart: boolean
  readonly children: ComponentChildren
}) {
  const [spoken, setSpoken] = useState('')
  const said = useRef(0)
  const sentence = sentenceOf(news, isPart)
  useEffect(() => {
    const wait = news.state.kind === 'ended' ? 0 : Math.max(0, said.current + SPEAK_MS - Date.now())
    const timer = setTimeout(() => {
      said.current = Date.now()
      setSpoken(sentence)
    }, wait)
    return () => clearTimeout(timer)
  }, [sentence])
  return (
    <div class="log-status">
      <span>{sentence}</span>
      <span role="status" class="log-spoken">
        {spoken}
      </span>
      {children}
    </div>
  )
}

function sentenceOf({ state, lines, bytes }: LogNews, isPart: boolean): string {
  if (state.kind === 'refused') return wordsOf(state.error)
  if (state.kind === 'cut') return text.cut(timeText(state.since))
  if (bytes === 0 && !isPart) return state.kind === 'ended' ? text.emptyEnded : text.empty
  return `${text.lines(lines)} · ${state.kind === 'ended' ? text.ended : text.reading}`
}
