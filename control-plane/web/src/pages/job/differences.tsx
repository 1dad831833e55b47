import type { JobComparison } from '@holdfast/client'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { Status } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { durationText } from '../../parts/time.js'
import { compareWords } from '../../words/en-compare.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'

/** Rows that are shown at first, and more at each press of the button. */
const PAGE = 100
/** Hosts that are named. */
const MAX_HOSTS = 50

type Task = JobComparison['tasks']['records'][number]

/** Letters of outcomes by their words, because the texts of outcomes go by letters. */
const LETTERS: Readonly<Record<string, string>> = {
  none: '.',
  running: '>',
  ok: 'o',
  changed: 'c',
  failed: 'f',
  ignored: 'i',
  rescued: 'r',
  skipped: 's',
  unreachable: 'u',
}
const outcomeText = (word: string) => courseWords.outcome[LETTERS[word] ?? ''] ?? word

/** The variables that differ. */
export function Values({ values: { count, records } }: { readonly values: JobComparison['extravars'] }) {
  return (
    <Section title={compareWords.values} columns={compareWords.valueColumns} count={count} rows={records}>
      {({ path, change, value, with_value: other }) => (
        <tr key={path.join(' ')}>
          <td class="mono">{path.join('.')}</td>
          <td>{change === 'removed' ? <Missing /> : <Value value={value} />}</td>
          <td>{change === 'added' ? <Missing /> : <Value value={other} />}</td>
        </tr>
      )}
    </Section>
  )
}

const Missing = () => <span class="soft">{compareWords.missing}</span>
const Value = ({ value }: { readonly value: unknown }) => (
  <code class="value">{typeof value === 'string' ? value : JSON.stringify(value)}</code>
)

/** The hosts that only one of the jobs had. */
export function Hosts({ hosts: { added, removed } }: { readonly hosts: JobComparison['hosts'] }) {
  if (added.length + removed.length === 0) return null
  return (
    <>
      <h2>{compareWords.hosts}</h2>
      {added.length > 0 && <p>{compareWords.onlyHere(namesText(added))}</p>}
      {removed.length > 0 && <p>{compareWords.onlyThere(namesText(removed))}</p>}
    </>
  )
}

function namesText(hosts: readonly string[]): string {
  const more = hosts.length - MAX_HOSTS
  return `${hosts.slice(0, MAX_HOSTS).join(', ')}${more > 0 ? compareWords.moreHosts(more) : ''}`
}

/** The steps or nodes of both jobs. */
export function Steps({ steps }: { readonly steps: JobComparison['steps'] }) {
  return (
    <Section title={compareWords.steps} columns={compareWords.stepColumns} count={steps.length} rows={steps}>
      {({ identifier, status, with_status: was, job, with_job: other, seconds, with_seconds: before }) => (
        <tr key={identifier}>
          <td>
            {job !== null && other !== null ? (
              <a href={addressOf(`/jobs/${job}/compare?with=${other}`)}>{identifier}</a>
            ) : (
              identifier
            )}
          </td>
          <td>{status === null ? <Missing /> : <Status status={status} />}</td>
          <td>{was === null ? <Missing /> : <Status status={was} />}</td>
          <td class="number">{tookText(seconds)}</td>
          <td class="number">{tookText(before)}</td>
        </tr>
      )}
    </Section>
  )
}

/** Where a task at a host ended otherwise. */
export function Results({ results: { count, records } }: { readonly results: JobComparison['results'] }) {
  return (
    <Section title={compareWords.results} columns={compareWords.resultColumns} count={count} rows={records}>
      {({ task, name, host, outcome, with_outcome: was }) => (
        <tr key={`${task} ${host}`}>
          <td>{name ?? words.none}</td>
          <td>{host}</td>
          <td>{outcomeText(outcome)}</td>
          <td>{outcomeText(was)}</td>
        </tr>
      )}
    </Section>
  )
}

/** Whether a task took another time, or only one of the jobs had it. */
export function isMoved(task: Task): boolean {
  return task.id === null || task.with_id === null || longerBy(task) !== 0
}

/** In seconds; 0: one of the two is not known. */
function longerBy({ seconds, with_seconds: before }: Task): number {
  return seconds === null || before === null ? 0 : seconds - before
}

/** How long tasks took, those with the greatest difference first. */
export function Tasks({ tasks }: { readonly tasks: readonly Task[] }) {
  const sorted = tasks.toSorted((one, other) => Math.abs(longerBy(other)) - Math.abs(longerBy(one)))
  return (
    <Section title={compareWords.tasks} columns={compareWords.taskColumns} count={sorted.length} rows={sorted}>
      {(task) => {
        const { id, with_id: other, name, role, seconds, with_seconds: before } = task
        const by = longerBy(task)
        return (
          <tr key={`${id} ${other}`}>
            <td>{`${role === null ? '' : `${role} : `}${name ?? words.none}`}</td>
            <td class="number">{id === null ? compareWords.notRun : tookText(seconds)}</td>
            <td class="number">{other === null ? compareWords.notRun : tookText(before)}</td>
            <td class="number">{by === 0 ? '' : compareWords.sign(tookText(Math.abs(by)), by > 0)}</td>
          </tr>
        )
      }}
    </Section>
  )
}

const tookText = (seconds: number | null) => (seconds === null ? words.none : durationText(seconds * 1000))

interface SectionProps<Row> {
  readonly title: string
  readonly columns: Readonly<Record<string, string>>
  readonly count: number
  readonly rows: readonly Row[]
  readonly children: (row: Row) => ComponentChildren
}

/** A table under a heading; nothing when it has no rows. */
function Section<Row>({ title, columns, count, rows, children }: SectionProps<Row>) {
  const [most, setMost] = useState(PAGE)
  if (count === 0) return null
  return (
    <>
      <h2>{title}</h2>
      <Table caption={title} columns={Object.values(columns)}>
        {rows.slice(0, most).map(children)}
      </Table>
      {rows.length > most ? (
        <button type="button" onClick={() => setMost(most + PAGE)}>
          {courseWords.more(Math.min(PAGE, rows.length - most))}
        </button>
      ) : (
        count > rows.length && <p class="soft">{compareWords.more(count - rows.length)}</p>
      )}
    </>
  )
}
