import type { JobRecord } from '@holdfast/client'
import { useLocation } from 'preact-iso/router'
import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { useAgain } from '../../live/again.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { isFor } from '../../live/session.js'
import { unlessUnchanged } from '../../live/unchanged.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { Table } from '../../parts/table.js'
import { words } from '../../words/en.js'
import { Arrivals, useArrivals } from './arrivals.js'
import { type JobFilters, filtersOf, queriedOf, queryOf } from './filters.js'
import { JobRow } from './job-row.js'

/** Rows at first, and how many more a press of the button brings. */
const ROWS = 100

/** The tabs above the list; undefined is all jobs. */
const KINDS = [undefined, 'queued', 'running', 'approve', 'failed'] as const

/** The list of jobs, newest first. Its filters stand in the address. */
export function JobsPage() {
  const { url, route } = useLocation()
  const filters = filtersOf(new URL(url, location.origin).searchParams)
  const [rows, setRows] = useState(ROWS)
  const key = queryOf(filters)
  const answer = useAnswer(`jobs?${key}&${rows}`, ['jobs'], (signal) =>
    api.listJobs(
      { ...queriedOf(filters), parts: filters.parts ?? false, records: rows, place: true },
      { signal, fetch: unlessUnchanged },
    ),
  )
  useAgain(answer.reload, answer.value?.records.some(({ estimate }) => estimate) === true)
  const change = (next: JobFilters) => {
    setRows(ROWS)
    route(`${addressOf('/jobs')}${queryOf(next) === '' ? '' : `?${queryOf(next)}`}`, true)
  }
  return (
    <>
      <PageTitle text={words.jobs.title}>
        <a class="button main" href={addressOf('/forms')}>
          {words.jobs.emptyAction}
        </a>
      </PageTitle>
      <Kinds filters={filters} />
      <Filters filters={filters} change={change} />
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <>
              <Empty text={key === '' ? words.jobs.empty : words.jobs.emptyFiltered} />
              {key === '' && isFor('admin') && <FirstSteps />}
            </>
          ) : (
            <>
              <JobTable key={key} jobs={records} />
              {records.length >= rows && (
                <p class="more">
                  <button type="button" onClick={() => setRows(rows + ROWS)}>
                    {words.jobs.more}
                  </button>
                </p>
              )}
            </>
          )
        }
      </Content>
    </>
  )
}

/** What an admin of a new installation does first. Others never load it. */
function FirstSteps() {
  const { value } = useAnswer('get-started', [], () => import('./get-started.js'))
  return value && <value.GetStarted />
}

/** One press for the jobs that people look for most. The other filters stay. */
function Kinds({ filters }: { readonly filters: JobFilters }) {
  return (
    <nav class="tabs" aria-label={words.jobs.kinds}>
      {KINDS.map((status) => {
        const query = queryOf({ ...filters, status })
        return (
          <a
            key={status}
            href={`${addressOf('/jobs')}${query === '' ? '' : `?${query}`}`}
            aria-current={status === filters.status ? 'page' : undefined}
          >
            {status === undefined ? words.jobs.all : words.status[status]}
          </a>
        )
      })}
    </nav>
  )
}

function Filters({ filters, change }: { readonly filters: JobFilters; readonly change: (next: JobFilters) => void }) {
  const [text, setText] = useState(filters.q ?? '')
  useEffect(() => {
    if (text === (filters.q ?? '')) return
    const timer = setTimeout(() => change({ ...filters, q: text === '' ? undefined : text }), 250)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <form
      class="filters"
      role="search"
      aria-label={words.jobs.filters}
      onSubmit={(event) => {
        event.preventDefault()
      }}
    >
      <label>
        <span class="hidden">{words.jobs.search}</span>
        <input
          type="search"
          placeholder={words.jobs.searchHint}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </label>
      <label>
        <span class="hidden">{words.jobs.statusLabel}</span>
        <select
          value={filters.status ?? ''}
          onChange={({ currentTarget: { value } }) => change({ ...filters, status: value === '' ? undefined : value })}
        >
          <option value="">{words.jobs.anyStatus}</option>
          {Object.entries(words.status).map(([status, word]) => (
            <option key={status} value={status}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <label class="check">
        <input
          type="checkbox"
          checked={filters.parts === true}
          onChange={(event) => change({ ...filters, parts: event.currentTarget.checked || undefined })}
        />
        {words.jobs.parts}
      </label>
      {queryOf(filters) !== '' && (
        <button
          type="button"
          class="quiet"
          onClick={() => {
            setText('')
            change({})
          }}
        >
          {words.jobs.clear}
        </button>
      )}
    </form>
  )
}

function JobTable({ jobs }: { readonly jobs: readonly JobRecord[] }) {
  const { shown, held, showAll } = useArrivals(jobs)
  return (
    <>
      <Arrivals count={held} showAll={showAll} />
      <Table
        caption={words.jobs.caption}
        kind="jobs"
        columns={[...Object.values(words.jobs.columns), words.jobs.actions]}
      >
        {shown.map((job) => (
          <JobRow key={job.id} job={job} />
        ))}
      </Table>
    </>
  )
}
