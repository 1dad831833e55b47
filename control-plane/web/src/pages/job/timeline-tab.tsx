import type { Job, JobOutline } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { Status } from '../../parts/status.js'
import { Time, durationText, localText } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'
import { noTasksText } from './no-tasks.js'

/** Rows that are shown at first, and more at each press of the button. */
const PAGE = 200

type OutlineRecord = JobOutline['records'][number]

/** How long each status, play and task took. */
export function TimelineTab({ job }: { readonly job: Job }) {
  const { id } = job
  const answer = useAnswer(`outline/${id}`, [], (signal) => api.getJobOutline({ id }, { signal }))
  const state = `${job.streams?.events.count} ${job.status}`
  const [shownState, setShownState] = useState(state)
  useEffect(() => {
    if (state === shownState || answer.isLoading) return
    setShownState(state)
    answer.reload()
  }, [state, answer.isLoading])
  return (
    <>
      <States job={job} />
      <h2>{courseWords.tasks}</h2>
      <Content answer={answer}>
        {({ records, complete }) => (
          <>
            {!complete && <p class="notice warn">{courseWords.incomplete}</p>}
            {records.length === 0 ? (
              <Empty text={noTasksText(job)} />
            ) : (
              <Records records={records} now={nowFor(job, records)} id={id} />
            )}
          </>
        )}
      </Content>
    </>
  )
}

/** Until when a task goes on that has not ended: now, or the last time that the runner reported. */
function nowFor({ place }: Job, records: readonly OutlineRecord[]): number {
  const last = records.reduce((last, { started, ended }) => Math.max(last, Date.parse(ended ?? started)), 0)
  return place?.state === 'running' ? Math.max(last, Date.now()) : last
}

function States({ job }: { readonly job: Job }) {
  const moves = job.history ?? []
  // The first status is not a move: the job has it from its launch on.
  const first = { time: job.start, to: moves[0]?.from ?? job.status, reason: null }
  const states = [first, ...moves]
  const start = Date.parse(job.start)
  const times = states.map(({ time }) => Date.parse(time))
  const isOpen = job.status === 'running' || job.status === 'approve'
  const end = isOpen ? Date.now() : Math.max(...times, job.end === null ? start : Date.parse(job.end))
  return (
    <>
      <h2>{courseWords.states}</h2>
      <Bars
        label={courseWords.states}
        first={courseWords.state}
        range={{ start, end }}
        rows={states.map(({ time, to, reason }, index) => ({
          key: `${time}${to}`,
          name: (
            <>
              <Status status={to} /> {reason !== null && localText(reason)}
            </>
          ),
          start: Date.parse(time),
          // The last status stays.
          end: times[index + 1] ?? (isOpen ? end : null),
          tone: to === 'abandoned' ? 'abandoned' : isOpen && index === states.length - 1 ? 'open' : '',
        }))}
      />
    </>
  )
}

function Records({ records, now, id }: { readonly records: readonly OutlineRecord[]; now: number; id: number }) {
  const [order, setOrder] = useState<'started' | 'slowest'>('started')
  const [most, setMost] = useState(PAGE)
  const tookOf = ({ started, ended }: OutlineRecord) => (ended === null ? now : Date.parse(ended)) - Date.parse(started)
  const sorted =
    order === 'started'
      ? records
      : records.filter(({ kind }) => kind !== 'play').toSorted((one, other) => tookOf(other) - tookOf(one))
  const start = Date.parse(records[0]?.started ?? '')
  return (
    <>
      <p class="inline">
        <label>
          {courseWords.order}
          <select
            value={order}
            onChange={({ currentTarget: { value } }) => setOrder(value === 'slowest' ? 'slowest' : 'started')}
          >
            <option value="started">{courseWords.orderOf.started}</option>
            <option value="slowest">{courseWords.orderOf.slowest}</option>
          </select>
        </label>
        <span class="soft">{courseWords.clock}</span>
      </p>
      <Bars
        label={courseWords.tasks}
        first={courseWords.task}
        range={{ start, end: now }}
        rows={sorted.slice(0, most).map((record) => ({
          key: String(record.id),
          name: <RecordName record={record} id={id} />,
          start: Date.parse(record.started),
          end: record.ended === null ? now : Date.parse(record.ended),
          tone: toneOf(record),
        }))}
      />
      {sorted.length > most && (
        <button type="button" onClick={() => setMost(most + PAGE)}>
          {courseWords.more(Math.min(PAGE, sorted.length - most))}
        </button>
      )}
    </>
  )
}

function toneOf({ kind, ended, failed, unreachable }: OutlineRecord): BarRow['tone'] {
  if (kind === 'play') return ended === null ? 'play open' : 'play'
  if (failed + unreachable > 0) return 'bad'
  return ended === null ? 'open' : ''
}

function RecordName({ record, id }: { readonly record: OutlineRecord; readonly id: number }) {
  const { name, role, line } = record
  const text = `${role === null ? '' : `${role} : `}${name ?? words.none}`
  if (line === undefined || line === null) return <>{text}</>
  // Ansible prints an empty line before each heading.
  return <a href={addressOf(`/jobs/${id}#L${line + 2}`)}>{text}</a>
}

interface BarRow {
  readonly key: string
  readonly name: ComponentChildren
  /** Milliseconds since the epoch; null: it is not over. */
  readonly start: number
  readonly end: number | null
  /** `open`: it still goes on, and its end is only that of the picture. `abandoned`: nobody knew what went on. */
  readonly tone: '' | 'play' | 'play open' | 'bad' | 'open' | 'abandoned'
}

interface BarsProps {
  readonly label: string
  readonly first: string
  readonly range: { readonly start: number; readonly end: number }
  readonly rows: readonly BarRow[]
}

/** A table in which each row also has a bar: when it began, and how long it took. */
function Bars({ label, first, range, rows }: BarsProps) {
  const all = Math.max(1, range.end - range.start)
  const percent = (ms: number) => `${Math.max(0, Math.min(100, (ms / all) * 100)).toFixed(2)}%`
  return (
    <div class="table timeline" role="region" aria-label={label} tabIndex={0}>
      <table>
        <caption class="hidden">{label}</caption>
        <thead>
          <tr>
            <th scope="col">{first}</th>
            <th scope="col">{courseWords.started}</th>
            <th scope="col">{courseWords.duration}</th>
            <th scope="col">{courseWords.share}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ key, name, start, end, tone }) => (
            <tr key={key}>
              <td class={tone.startsWith('play') ? 'play' : undefined}>{name}</td>
              <td class="number">
                <Time at={new Date(start).toISOString()} />
              </td>
              <td class="number">{end === null ? words.none : durationText(end - start)}</td>
              <td class="bar-cell">
                <div
                  class={`bar ${tone}`}
                  style={{ marginLeft: percent(start - range.start), width: percent((end ?? range.end) - start) }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
