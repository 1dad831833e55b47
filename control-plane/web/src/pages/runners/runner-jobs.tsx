import type { JobRecord } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { unlessUnchanged } from '../../live/unchanged.js'
import { Content } from '../../parts/content.js'
import { Place } from '../../parts/place.js'
import { JobStatus } from '../../parts/status.js'
import { Table } from '../../parts/table.js'
import { JobDuration, Time } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { runnerWords } from '../../words/en-runners.js'
import { words } from '../../words/en.js'

const { page: text } = runnerWords
const { id, status, form, user, start, duration, now } = words.jobs.columns

/** Most jobs of one table. */
const MAX_ROWS = 20

const ENDED = 'success,failed,warning,aborted,abandoned'

/** The jobs that run on a runner, and those that ended there last. @property runner its name, as jobs have it */
export function RunnerJobs({ runner }: { readonly runner: string }) {
  return (
    <>
      <Jobs title={text.running} none={text.noneRuns} runner={runner} status="running" />
      <Jobs title={text.last} none={text.noneEnded} runner={runner} status={ENDED} />
      <p>
        <a href={addressOf(`/jobs?runner=${encodeURIComponent(runner)}`)}>{text.allJobs}</a>
      </p>
    </>
  )
}

interface JobsProps {
  readonly title: string
  /** What is said when there is no job. */
  readonly none: string
  readonly runner: string
  /** The statuses of the jobs, with commas. */
  readonly status: string
}

function Jobs({ title, none, ...filter }: JobsProps) {
  const answer = useAnswer(JSON.stringify(filter), ['jobs'], (signal) =>
    api.listJobs({ ...filter, records: MAX_ROWS, place: true }, { signal, fetch: unlessUnchanged }),
  )
  return (
    <section>
      <h2>{title}</h2>
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <p class="soft">{none}</p>
          ) : (
            <Table caption={title} columns={[id, status, form, user, start, duration, now]}>
              {records.map((job) => (
                <JobRow key={job.id} job={job} />
              ))}
            </Table>
          )
        }
      </Content>
    </section>
  )
}

function JobRow({ job }: { readonly job: JobRecord }) {
  return (
    <tr>
      <td class="number">
        <a href={addressOf(`/jobs/${job.id}`)}>{job.id}</a>
      </td>
      <td>
        <JobStatus job={job} />
      </td>
      <td>{job.target}</td>
      <td>{userName(job.user, job.user_type)}</td>
      <td class="number">
        <Time at={job.start} />
      </td>
      <td>
        <JobDuration job={job} />
      </td>
      <td class="now">{job.place && <Place place={job.place} />}</td>
    </tr>
  )
}
