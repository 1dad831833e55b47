import type { Job } from '@holdfast/client'
import lazy from 'preact-iso/lazy'
import { useLocation } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { LogView } from '../../log/log-view.js'
import { words } from '../../words/en.js'

const Pieces = lazy(() => import('./pieces.js').then(({ Pieces: pieces }) => pieces))

/** The output of a job: all of it, or what the address names of it. */
export function OutputTab({ job }: { readonly job: Job }) {
  const { query } = useLocation()
  const host = query.host || undefined
  const task = /^\d+$/.test(query.task ?? '') ? Number(query.task) : undefined
  if (host !== undefined || task !== undefined) {
    return <Pieces key={`${job.id} ${task} ${host}`} job={job} host={host} task={task} />
  }
  return (
    <>
      <LogView key={job.id} jobId={job.id} bytes={job.streams?.output.bytes} isOver={job.end !== null} />
      <p>
        <a href={addressOf(`/api/v2/job/${job.id}/download`)} download>
          {words.job.download}
        </a>
      </p>
    </>
  )
}
