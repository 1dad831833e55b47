import type { Job } from '@holdfast/client'
import { TimeBars, type TimeRow, type TimeView } from '../../grid/time-bars.js'
import type { TimeRange } from '../../grid/time-scale.js'
import { Status } from '../../parts/status.js'
import { localText } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'

interface StatesProps {
  readonly job: Job
  readonly view: TimeView
  readonly setView: (view: TimeView) => void
}

/** What the job itself did: its statuses, and within them where it was. */
export function States({ job, view, setView }: StatesProps) {
  const moves = job.history ?? []
  // The first status is not a move: the job has it from its launch on.
  const states = [{ time: job.start, to: moves[0]?.from ?? job.status, reason: null }, ...moves]
  const start = Date.parse(job.start)
  const times = states.map(({ time }) => Date.parse(time))
  const isOpen = job.status === 'running' || job.status === 'approve'
  const isGoing = isOpen || job.status === 'abandoned'
  const end = isGoing ? Date.now() : Math.max(...times, job.end === null ? start : Date.parse(job.end))
  const statuses = states.map(({ time, to, reason }, index) => {
    const isLast = index === states.length - 1
    // A final status stays. Nobody knows when an abandoned job ends.
    const until = times[index + 1] ?? (isGoing ? end : null)
    const from = Date.parse(time)
    return {
      to,
      key: `${time}${to}`,
      name: (
        <>
          <Status status={to} /> {reason !== null && localText(reason)}
        </>
      ),
      start: from,
      took: until === null ? null : until - from,
      parts: [{ start: from, end: until ?? end }],
      tone: to === 'abandoned' ? 'unknown' : to === 'approve' ? 'idle' : isOpen && isLast ? 'open' : '',
    }
  })
  const stages = stagesOf(job, end)
  const rows: TimeRow[] = [...statuses, ...stages].sort((one, other) => one.start - other.start)
  const ran =
    stages.length === 0 ? statuses.filter(({ to }) => to === 'running') : stages.filter(({ isBusy }) => isBusy)
  return (
    <>
      <h2>{courseWords.states}</h2>
      <TimeBars
        label={courseWords.states}
        first={courseWords.state}
        range={{ start, end }}
        rows={rows}
        busy={ran.flatMap(({ parts }): readonly TimeRange[] => parts)}
        view={view}
        setView={setView}
      />
    </>
  )
}

/** On its way to the runner, at the runner, and when that was away. */
function stagesOf({ stages = [], runner, status, history = [] }: Job, end: number) {
  /** The status says that already. */
  const isApproval = (since: string) =>
    (history.findLast(({ time }) => time <= since)?.to ?? history[0]?.from ?? status) === 'approve'
  return stages.flatMap(({ state, since, until }) => {
    if (state === 'waiting' && isApproval(since)) return []
    const part = { start: Date.parse(since), end: until === null ? end : Date.parse(until) }
    const isBusy = state === 'claimed' || state === 'running'
    return {
      key: since + state,
      name: courseWords.stage[state]?.(runner ?? '') ?? state,
      start: part.start,
      took: part.end - part.start,
      parts: [part],
      tone: state === 'lost' ? 'unknown' : isBusy ? '' : 'idle',
      isPart: true,
      isBusy,
    }
  })
}
