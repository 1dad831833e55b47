import type { Job, JobOutline } from '@holdfast/client'
import { useEffect, useState } from 'preact/hooks'
import { TimeBars, type TimeRow, type TimeView, zoomed } from '../../grid/time-bars.js'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { isTime } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'
import { noTasksText } from './no-tasks.js'
import { States } from './timeline-tab-states.js'

/** Rows that are shown at first, and more at each press of the button. */
const PAGE = 200

const KINDS = ['task', 'host'] as const
const ORDERS = ['started', 'slowest'] as const
const ZOOMS = [
  ['in', 2],
  ['out', 0.5],
  ['all', 0],
] as const

type OutlineRecord = JobOutline['records'][number]

/** How long each status, play, task and host took. */
export function TimelineTab({ job }: { readonly job: Job }) {
  const { id } = job
  const [kind, setKind] = useState<(typeof KINDS)[number]>('task')
  const [view, setView] = useState<TimeView>({ zoom: 1, isFolded: true })
  const answer = useAnswer(`outline/${id}/${kind}`, [], (signal) => readOutline(id, kind === 'host', signal))
  const state = `${job.streams?.events.count} ${job.status}`
  const [shownState, setShownState] = useState(state)
  useEffect(() => {
    if (state === shownState || answer.isLoading) return
    setShownState(state)
    answer.reload()
  }, [state, answer.isLoading])
  return (
    <>
      <Zoom view={view} setView={setView} />
      <States job={job} view={view} setView={setView} />
      <h2>{courseWords.tasks}</h2>
      <Content answer={answer}>
        {(outline) => (
          <>
            {!outline.complete && <p class="notice warn">{courseWords.incomplete}</p>}
            {outline.records.length === 0 ? (
              <Empty text={noTasksText(job)} />
            ) : (
              <Records
                outline={outline}
                now={nowFor(job, outline.records)}
                id={id}
                kind={kind}
                setKind={setKind}
                view={view}
                setView={setView}
              />
            )}
          </>
        )}
      </Content>
    </>
  )
}

/** Tasks whose time is none have no place on the timeline. */
async function readOutline(id: number, hosts: boolean, signal: AbortSignal): Promise<JobOutline> {
  const outline = await api.getJobOutline({ id, hosts }, { signal })
  const isPlaced = ({ started, ended }: OutlineRecord) => isTime(started) && (ended === null || isTime(ended))
  return { ...outline, records: outline.records.filter(isPlaced) }
}

function Zoom({ view, setView }: { readonly view: TimeView; readonly setView: (view: TimeView) => void }) {
  return (
    <div class="inline">
      {ZOOMS.map(([name, by]) => (
        <button
          key={name}
          type="button"
          aria-disabled={zoomed(view, by).zoom === view.zoom}
          onClick={() => setView(zoomed(view, by))}
        >
          {courseWords.zoom[name]}
        </button>
      ))}
      <label class="check">
        <input
          type="checkbox"
          checked={view.isFolded}
          onChange={({ currentTarget: { checked } }) => setView({ ...view, isFolded: checked })}
        />
        {courseWords.fold}
      </label>
      <span class="soft">{courseWords.zoomKeys}</span>
    </div>
  )
}

/** Until when a task goes on that has not ended: now, or the last time that the runner reported. */
function nowFor({ place }: Job, records: readonly OutlineRecord[]): number {
  const last = records.reduce((last, { started, ended }) => Math.max(last, Date.parse(ended ?? started)), 0)
  return place?.state === 'running' ? Math.max(last, Date.now()) : last
}

interface RecordsProps {
  readonly outline: JobOutline
  /** The end of the picture. */
  readonly now: number
  /** The number of the job. */
  readonly id: number
  readonly kind: (typeof KINDS)[number]
  readonly setKind: (kind: (typeof KINDS)[number]) => void
  readonly view: TimeView
  readonly setView: (view: TimeView) => void
}

function Records({ outline: { records, hosts = [] }, now, id, kind, setKind, view, setView }: RecordsProps) {
  const [order, setOrder] = useState<(typeof ORDERS)[number]>('started')
  const [shown, setShown] = useState(PAGE)
  const isSlowest = order === 'slowest'
  const tasks = records.filter((record) => record.kind !== 'play')
  const rows =
    kind === 'host'
      ? hosts.map((host) => hostRow(host, id, now))
      : (isSlowest ? tasks : records).map((record) => taskRow(record, id, now))
  const sorted = isSlowest ? rows.toSorted((one, other) => (other.took ?? 0) - (one.took ?? 0)) : rows
  return (
    <>
      <div class="inline">
        <Choice label={courseWords.rows} names={courseWords.rowsOf} value={kind} values={KINDS} set={setKind} />
        <Choice label={courseWords.order} names={courseWords.orderOf} value={order} values={ORDERS} set={setOrder} />
        <span class="soft">
          {courseWords.clock} {kind === 'host' && courseWords.busy}
        </span>
      </div>
      <TimeBars
        label={courseWords.tasks}
        first={courseWords[kind === 'host' ? 'hostName' : 'task']}
        range={{ start: Date.parse(records[0]?.started ?? ''), end: now }}
        rows={sorted.slice(0, shown)}
        busy={tasks.map((record) => rangeOf(record, now))}
        view={view}
        setView={setView}
      />
      {sorted.length > shown && (
        <button type="button" onClick={() => setShown(shown + PAGE)}>
          {courseWords.more(Math.min(PAGE, sorted.length - shown))}
        </button>
      )}
    </>
  )
}

interface ChoiceProps<Value extends string> {
  readonly label: string
  readonly names: Readonly<Record<Value, string>>
  readonly value: Value
  readonly values: readonly Value[]
  readonly set: (value: Value) => void
}

function Choice<Value extends string>({ label, names, value, values, set }: ChoiceProps<Value>) {
  return (
    <label>
      {label}{' '}
      <select
        value={value}
        onChange={({ currentTarget }) => set(values.find((one) => one === currentTarget.value) ?? value)}
      >
        {values.map((one) => (
          <option key={one} value={one}>
            {names[one]}
          </option>
        ))}
      </select>
    </label>
  )
}

const rangeOf = ({ started, ended }: OutlineRecord, now: number) => ({
  start: Date.parse(started),
  end: ended === null ? now : Date.parse(ended),
})

function taskRow(record: OutlineRecord, id: number, now: number): TimeRow {
  const { name, role, line, kind, ended, failed, unreachable } = record
  const text = `${role === null ? '' : `${role} : `}${name ?? words.none}`
  // Ansible prints an empty line before each heading.
  const href = typeof line === 'number' ? addressOf(`/jobs/${id}#L${line + 2}`) : undefined
  const part = rangeOf(record, now)
  const isOpen = ended === null
  const tone = failed + unreachable > 0 ? 'bad' : isOpen ? 'open' : ''
  return {
    key: String(record.id),
    name: href === undefined ? text : <a href={href}>{text}</a>,
    start: part.start,
    took: part.end - part.start,
    parts: [part],
    tone: kind === 'play' ? `play ${isOpen ? 'open' : ''}` : tone,
    href,
    output: courseWords.outputOf(text),
  }
}

function hostRow(
  { host, started, busy_ms: busy, spans, since, failed, unreachable }: NonNullable<JobOutline['hosts']>[number],
  id: number,
  now: number,
): TimeRow {
  const start = Date.parse(started)
  const parts = spans.map(([from = 0, to = 0]) => ({ start: start + from, end: start + to }))
  const open = since === null ? [] : [{ start: Date.parse(since), end: now }]
  const href = addressOf(`/jobs/${id}?host=${encodeURIComponent(host)}`)
  return {
    key: host,
    name: <a href={href}>{host}</a>,
    start,
    took: open.reduce((sum, one) => sum + one.end - one.start, busy),
    parts: [...parts, ...open],
    tone: failed + unreachable > 0 ? 'bad' : since === null ? '' : 'open',
    href,
    output: courseWords.ofHost(host),
  }
}
