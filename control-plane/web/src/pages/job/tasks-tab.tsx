import type { Job, JobOutline } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { type GridTask, MatrixGrid, SignLegend } from '../../grid/matrix-grid.js'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { durationText } from '../../parts/time.js'
import { courseWords } from '../../words/en-course.js'
import { logWords } from '../../words/en-log.js'
import { words } from '../../words/en.js'
import { noTasksText } from './no-tasks.js'
import { type ResultPlace, ResultDialog } from './result-dialog.js'

type OutlineRecord = JobOutline['records'][number]

/** Which outcomes a choice shows; undefined: all. */
const OUTCOMES = { all: undefined, failed: 'failed,unreachable,ignored,rescued', changed: 'changed' } as const
const CHOICES = ['all', 'failed', 'changed'] as const

/** Every task at every host: what came of it, and its result. */
export function TasksTab({ job }: { readonly job: Job }) {
  const { query, route } = useLocation()
  const choice = CHOICES.find((known) => known === query.show) ?? 'all'
  const [search, setSearch] = useState('')
  const [opened, setOpened] = useState<ResultPlace | null>(null)
  const { id } = job
  const answer = useAnswer(`tasks/${id}/${choice}`, [], async (signal) => {
    const outcome = OUTCOMES[choice]
    const readOutline = async () => {
      const { records } = await api.getJobOutline({ id }, { signal })
      return new Map(records.map((record) => [record.id, record]))
    }
    const [matrix, records] = await Promise.all([
      api.getJobMatrix({ id, ...(outcome && { outcome }) }, { signal }),
      readOutline(),
    ])
    // The job may have begun a task between the two answers.
    const isOld = matrix.tasks.some((task) => !records.has(task))
    return { matrix, records: isOld ? await readOutline() : records }
  })
  // The job is read again whenever it changed. Only a job that has new events is worth another reading of all cells.
  const state = `${job.streams?.events.count} ${job.status}`
  const [shownState, setShownState] = useState(state)
  useEffect(() => {
    if (state === shownState || answer.isLoading) return
    setShownState(state)
    answer.reload()
  }, [state, answer.isLoading])

  return (
    <Content answer={answer}>
      {({ matrix, records }) => (
        <>
          <form class="filters" onSubmit={(event) => event.preventDefault()}>
            <label>
              {courseWords.show}{' '}
              <select
                value={choice}
                onChange={({ currentTarget: { value } }) =>
                  route(addressOf(`/jobs/${id}/tasks${value === 'all' ? '' : `?show=${value}`}`), true)
                }
              >
                {CHOICES.map((name) => (
                  <option key={name} value={name}>
                    {courseWords.showOf[name]}
                  </option>
                ))}
              </select>
            </label>
            <label>
              {courseWords.host}{' '}
              <input type="search" value={search} onInput={({ currentTarget }) => setSearch(currentTarget.value)} />
            </label>
          </form>
          {!matrix.complete && <p class="notice warn">{courseWords.incomplete}</p>}
          <Cells
            matrix={matrix}
            id={id}
            taskOf={(task) => taskOf(id, records, task)}
            search={search}
            empty={choice === 'all' && search === '' ? noTasksText(job) : courseWords.nothingFiltered}
            open={(task, host, letter) => {
              const record = records.get(task)
              if (record) setOpened({ jobId: id, record, host, letter })
            }}
          />
          {opened && <ResultDialog place={opened} onClose={() => setOpened(null)} />}
        </>
      )}
    </Content>
  )
}

interface CellsProps {
  readonly matrix: Awaited<ReturnType<typeof api.getJobMatrix>>
  /** The number of the job. */
  readonly id: number
  readonly taskOf: (task: number) => GridTask
  readonly search: string
  readonly empty: string
  readonly open: (task: number, host: string, letter: string) => void
}

/** What the row of a task says: its role and name, how long it took, and more when the mouse rests on it. */
function taskOf(id: number, records: ReadonlyMap<number, OutlineRecord>, task: number): GridTask {
  const href = addressOf(`/jobs/${id}?task=${task}`)
  const record = records.get(task)
  if (!record) return { name: words.none, took: '', title: '', href }
  const { role, ended, started, play } = record
  const name = `${role === null ? '' : `${role} : `}${record.name ?? words.none}`
  const seconds = ended === null ? null : Math.max(0, (Date.parse(ended) - Date.parse(started)) / 1000)
  const facts = [records.get(play ?? -1)?.name, name, logWords.outcome(record, null), record.path]
  return {
    name,
    took: seconds === null ? '' : durationText(seconds * 1000),
    title: facts.filter(Boolean).join(' · '),
    href,
  }
}

function Cells({ matrix, id, taskOf: rowOf, search, empty, open }: CellsProps) {
  const { hosts, tasks, cells } = matrix
  const columns = useMemo(() => {
    const wanted = search.trim().toLowerCase()
    return [...hosts.keys()].filter((host) => hosts[host]?.toLowerCase().includes(wanted))
  }, [hosts, search])
  const rows = useMemo(() => tasks.map(rowOf), [matrix])
  const isThere = (letter: string) => cells.some((row) => row.includes(letter))
  const letterOf = (task: number, column: number) => cells[task]?.[columns[column] ?? -1] ?? '.'
  if (tasks.length === 0 || columns.length === 0) return <Empty text={empty} />
  return (
    <>
      <p class="soft">
        <span role="status">{courseWords.size(tasks.length, columns.length)}</span>. {courseWords.keys}
      </p>
      <SignLegend isThere={isThere} />
      <MatrixGrid
        hosts={columns.map((host) => hosts[host] ?? '')}
        tasks={rows}
        hrefOf={(host) => addressOf(`/jobs/${id}?host=${encodeURIComponent(host)}`)}
        letterOf={letterOf}
        open={({ row, column }) => {
          const [task, host] = [tasks[row], hosts[columns[column] ?? -1]]
          if (task !== undefined && host !== undefined) open(task, host, letterOf(row, column))
        }}
      />
    </>
  )
}
