import { type JobEvent, type JobOutline, writeJson } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { addressOf } from '../../live/address.js'
import { type Answer, useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content } from '../../parts/content.js'
import { CopyButton } from '../../parts/copy-button.js'
import { Dialog } from '../../parts/dialog.js'
import { Time, durationText } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'
import { ResultDiff } from './result-diff.js'
import { LongText, ValueTree } from './value-tree.js'

/** A task at a host, and the letter of its result. */
export interface ResultPlace {
  readonly jobId: number
  readonly record: JobOutline['records'][number]
  readonly host: string
  readonly letter: string
}

/** The event that brings the result, by the letter of the outcome. */
const TYPES: Readonly<Record<string, string>> = {
  o: 'runner_on_ok',
  c: 'runner_on_ok',
  f: 'runner_on_failed',
  i: 'runner_on_failed',
  r: 'runner_on_failed',
  s: 'runner_on_skipped',
  u: 'runner_on_unreachable',
}
/** Most characters of a text for people that are shown at once. */
const MAX_CHARACTERS = 20_000
/** A host may be at several tasks of one name. Their results are read so many at a time. */
const PAGE = 100

/** The result of a task at a host. The texts for people come first, then all of it. */
export function ResultDialog({ place, onClose }: { readonly place: ResultPlace; readonly onClose: () => void }) {
  const { jobId, record, host, letter } = place
  const answer = useAnswer(`result/${jobId}/${record.id}/${host}/${letter}`, [], async (signal) => ({
    found: await resultOf(place, signal),
  }))
  return (
    <Frame title={courseWords.result(record.name ?? words.none, host)} jobId={jobId} answer={answer} onClose={onClose}>
      <p>
        {courseWords.outcome[letter] ?? letter} ·{' '}
        <a href={addressOf(`/jobs/${jobId}?host=${encodeURIComponent(host)}`)}>{courseWords.ofHost(host)}</a> ·{' '}
        <a href={addressOf(`/jobs/${jobId}?task=${record.id}`)}>{courseWords.ofTask}</a>
      </p>
    </Frame>
  )
}

/** The result that an event brought. */
export function EventDialog(place: { readonly jobId: number; readonly order: number; readonly onClose: () => void }) {
  const { jobId, order, onClose } = place
  const answer = useAnswer(`event/${jobId}/${order}`, [], async (signal) => {
    const event = await api.getJobEvent({ id: jobId, order }, { signal })
    return { found: { event, line: null, diff: await differenceOf(jobId, event, signal) } }
  })
  const { task = null, host = null } = answer.value?.found.event ?? {}
  const title = courseWords.result(task ?? words.none, host ?? words.none)
  return <Frame title={title} jobId={jobId} answer={answer} onClose={onClose} />
}

interface FrameProps {
  readonly title: string
  readonly jobId: number
  readonly answer: Answer<{ readonly found: Found | null }>
  readonly onClose: () => void
  readonly children?: ComponentChildren
}

function Frame({ title, jobId, answer, onClose, children }: FrameProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <Content answer={answer}>
        {({ found }) => (found ? <Result jobId={jobId} {...found} /> : <p class="soft">{courseWords.noResult}</p>)}
      </Content>
      <div class="buttons">
        <button type="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
    </Dialog>
  )
}

interface Found {
  readonly event: JobEvent
  /** Number of line ends before its output; null: not known. */
  readonly line: number | null
  /** What the task changed in a file; undefined: that is not known. */
  readonly diff: unknown
}

async function resultOf({ jobId: id, record, host, letter }: ResultPlace, signal: AbortSignal): Promise<Found | null> {
  const type = TYPES[letter]
  if (type === undefined) return null
  let after = record.order
  for (;;) {
    const request = { id, host, type, after, limit: PAGE, ...(record.name !== null && { task: record.name }) }
    const { records } = await api.getJobEvents(request, { signal })
    const found = records.find(({ task_id }) => task_id === record.id)
    if (found) {
      const event = await api.getJobEvent({ id, order: found.order }, { signal })
      return { event, line: found.line ?? null, diff: await differenceOf(id, event, signal) }
    }
    const last = records.at(-1)
    if (!last || records.length < PAGE) return null
    after = last.order
  }
}

/** What changed in a file has an event of its own. */
async function differenceOf(id: number, { result }: JobEvent, signal: AbortSignal): Promise<unknown> {
  const order = isObject(result) ? result._diff_order : undefined
  const changed = typeof order === 'number' ? await api.getJobEvent({ id, order }, { signal }) : null
  return isObject(changed?.result) ? changed.result.diff : undefined
}

function Result({ jobId, event, line, diff }: Found & { readonly jobId: number }) {
  const { result, time, duration } = event
  const texts = textsOf(result)
  return (
    <>
      <p class="soft">
        <Time at={time} />
        {duration !== null && ` · ${durationText(duration * 1000)}`}
        {line !== null && (
          <>
            {' · '}
            <a href={addressOf(`/jobs/${jobId}#L${line + 1}`)}>{courseWords.toOutput}</a>
          </>
        )}
      </p>
      {texts.map(([name, text]) => (
        <section key={name}>
          <h3>{courseWords.parts[name] ?? name}</h3>
          <pre class="result-text" tabIndex={0} role="region" aria-label={courseWords.parts[name] ?? name}>
            <LongText text={text} most={MAX_CHARACTERS} />
          </pre>
        </section>
      ))}
      {diff !== undefined && (
        <section>
          <h3>{courseWords.diff}</h3>
          <ResultDiff diff={diff} label={courseWords.diff} />
        </section>
      )}
      {isObject(result) && (
        <details open={texts.length === 0}>
          <summary>{courseWords.whole}</summary>
          <ValueTree value={result} />
          <CopyButton text={() => writeJson(result, 2)} label={courseWords.copyJson} />
        </details>
      )}
    </>
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** The parts of a result that are texts for people. */
function textsOf(result: unknown): (readonly [string, string])[] {
  if (!isObject(result)) return []
  return ['msg', 'stderr', 'stdout'].flatMap((name) => {
    const value = result[name]
    if (value === undefined || value === null || value === '') return []
    return [[name, typeof value === 'string' ? value : JSON.stringify(value, null, 2)] as const]
  })
}
