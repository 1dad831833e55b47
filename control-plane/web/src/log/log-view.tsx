import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { outputOf } from '../live/job-output.js'
import { hasLetterKeys, setLetterKeys } from '../live/letter-keys.js'
import type { OutputSource } from '../live/output-source.js'
import { timeText } from '../parts/time.js'
import { words } from '../words/en.js'
import { type LogNews, type LogSession, startLog } from './log-session.js'
import { LogFind, LogKeys, LogTools } from './log-tools.js'

const text = words.log

/** The status line speaks at most this often, in milliseconds. */
const SPEAK_MS = 10_000

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
  marks: [],
  marked: null,
  top: 0,
}

interface LogViewProps {
  readonly jobId: number
  /** Bytes of output that the job reports. When they are more than what is shown, the view reads on. */
  readonly bytes?: number
  /** The job had ended when its page was opened. */
  readonly isOver?: boolean
  /** Another output than the whole one of the job. */
  readonly source?: OutputSource
}

/** The output of a job: only a window of it is ever on the page, however long it is. */
export function LogView({ jobId, bytes = 0, isOver = false, source: given }: LogViewProps) {
  const [news, setNews] = useState(NOTHING)
  const [isFinding, setFinding] = useState(false)
  const scroller = useRef<HTMLDivElement>(null)
  const space = useRef<HTMLDivElement>(null)
  const sheet = useRef<HTMLDivElement>(null)
  const session = useRef<LogSession>(null)
  const keys = useRef<HTMLDialogElement>(null)
  const source = useMemo(() => given ?? outputOf(jobId), [jobId, given])

  useLayoutEffect(() => {
    if (!scroller.current || !space.current || !sheet.current) return
    const started = startLog(
      { scroller: scroller.current, space: space.current, sheet: sheet.current },
      source,
      { find: () => setFinding(true), help: () => keys.current?.showModal(), hasLetters: () => hasLetterKeys.peek() },
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

  function closeFind(): void {
    session.current?.model.find('', false)
    setFinding(false)
    scroller.current?.focus()
  }

  return (
    <div class="log">
      <LogTools
        news={news}
        session={session}
        onFind={() => setFinding(true)}
        onHelp={() => keys.current?.showModal()}
      />
      {isFinding && <LogFind news={news} session={session} onClose={closeFind} />}
      <div class="log-frame">
        <div
          ref={scroller}
          class={news.isWrapped ? 'log-scroller log-wrapped' : 'log-scroller'}
          role="region"
          aria-label={text.label}
          tabIndex={0}
          onKeyDown={(event) => session.current?.press(event) && event.preventDefault()}
        >
          <div ref={space} class="log-space">
            <div ref={sheet} class="log-sheet" />
          </div>
        </div>
        <HitMarks marks={news.marks} />
        {news.newLines > 0 && news.state.kind !== 'ended' && (
          <button type="button" class="log-new" onClick={() => session.current?.model.toEnd()}>
            {text.newLines(news.newLines)}
          </button>
        )}
      </div>
      <LogStatus news={news} isPart={given !== undefined} />
      <LogKeys dialog={keys} hasLetters={hasLetterKeys.value} onLetters={setLetterKeys} />
    </div>
  )
}

/** Where hits are, beside the scrollbar. */
function HitMarks({ marks }: { readonly marks: readonly number[] }) {
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

/**
 * How much output there is, and the state of the reading. People see it at once. A screen reader says it from time to
 * time.
 */
function LogStatus({ news, isPart }: { readonly news: LogNews; readonly isPart: boolean }) {
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
    </div>
  )
}

function sentenceOf({ state, lines, bytes }: LogNews, isPart: boolean): string {
  if (state.kind === 'refused') return state.error.message
  if (state.kind === 'cut') return text.cut(timeText(state.since))
  if (isPart) return text.lines(lines)
  if (bytes === 0) return state.kind === 'ended' ? text.emptyEnded : text.empty
  return `${text.lines(lines)} · ${state.kind === 'ended' ? text.ended : text.reading}`
}
