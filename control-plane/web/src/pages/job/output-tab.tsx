import type { Job } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { LogView } from '../../log/log-view.js'
import { words } from '../../words/en.js'

/** The output of a job; of one that consists of other jobs, these. */
export function OutputTab({ job }: { readonly job: Job }) {
  return (
    <>
      <LogView key={job.id} jobId={job.id} bytes={job.streams?.output.bytes} />
      <p>
        <a href={addressOf(`/api/v2/job/${job.id}/download`)} download>
          {words.job.download}
        </a>
      </p>
    </>
  )
}
