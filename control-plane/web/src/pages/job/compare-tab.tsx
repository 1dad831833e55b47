import { type Job, type JobComparison, RefusedError } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty } from '../../parts/content.js'
import { Status } from '../../parts/status.js'
import { Time } from '../../parts/time.js'
import { compareWords } from '../../words/en-compare.js'
import { words } from '../../words/en.js'
import { Hosts, Results, Steps, Tasks, Values, isMoved } from './differences.js'

/** What differs between a job and the last good run of its form, or the job that the address names. */
export function CompareTab({ job }: { readonly job: Job }) {
  const { query } = useLocation()
  const { id } = job
  const other = /^\d{1,15}$/.test(query.with ?? '') ? Number(query.with) : undefined
  const answer = useAnswer(`compare/${id}/${other}`, [], (signal) =>
    api.compareJob({ id, ...(other !== undefined && { with: other }) }, { signal }),
  )
  const state = `${job.streams?.events.count} ${job.status}`
  const [shownState, setShownState] = useState(state)
  useEffect(() => {
    if (state === shownState || answer.isLoading) return
    setShownState(state)
    answer.reload()
  }, [state, answer.isLoading])
  const { error } = answer
  const isNone = error instanceof RefusedError && error.code === 'no_run_to_compare'
  return (
    <>
      <Choice key={other} id={id} other={other} />
      {isNone ? (
        <Empty text={compareWords.none} />
      ) : (
        <Content answer={answer}>{(comparison) => <Differences comparison={comparison} />}</Content>
      )}
    </>
  )
}

/** Which job to compare with. It stands in the address. */
function Choice({ id, other }: { readonly id: number; readonly other: number | undefined }) {
  const { route } = useLocation()
  const [text, setText] = useState(other === undefined ? '' : String(other))
  const page = addressOf(`/jobs/${id}/compare`)
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault()
        route(text === '' ? page : `${page}?with=${text}`)
      }}
    >
      <label>
        {compareWords.with}{' '}
        <input
          inputMode="numeric"
          pattern="[0-9]{1,15}"
          size={8}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <button type="submit">{compareWords.show}</button>
      {other !== undefined && <a href={page}>{compareWords.last}</a>}
    </form>
  )
}

function Differences({ comparison }: { readonly comparison: JobComparison }) {
  const { with: other, extravars, results, tasks, hosts, steps, complete } = comparison
  const moved = tasks.records.filter(isMoved)
  const isSame =
    extravars.count + results.count + moved.length + hosts.added.length + hosts.removed.length + steps.length === 0
  return (
    <>
      <p>
        {compareWords.beside}{' '}
        <a href={addressOf(`/jobs/${other.id}`)}>
          {words.job.title(other.id)}, {other.target}
        </a>{' '}
        <Status status={other.status} /> <Time at={other.start} />
      </p>
      {!complete && <p class="notice warn">{compareWords.incomplete}</p>}
      {isSame && <Empty text={compareWords.same} />}
      <Values values={extravars} />
      <Hosts hosts={hosts} />
      <Steps steps={steps} />
      <Results results={results} />
      <Tasks tasks={moved} />
    </>
  )
}
