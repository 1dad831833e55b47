import type { JobRecord } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { Left, Place } from '../../parts/place.js'
import { JobStatus } from '../../parts/status.js'
import { Ago, JobDuration, localText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { words } from '../../words/en.js'
import { RowMenu } from './row-menu.js'

/**
 * A job in the list. It has one line, which never grows: what is longer is cut, and its title says all of it. On a phone
 * it is a card.
 */
export function JobRow({ job }: { readonly job: JobRecord }) {
  const address = addressOf(`/jobs/${job.id}`)
  const user = userName(job.user, job.user_type)
  const part = job.parent_id === null ? '' : words.jobs.part(job.parent_id)
  return (
    <tr class={job.parent_id === null ? undefined : 'part'}>
      <td class="number">
        <a href={address}>{job.id}</a>
      </td>
      <td class="state">
        <JobStatus job={job} />
      </td>
      <td class="target" title={part === '' ? job.target : `${job.target}, ${part}`}>
        <a class="plain" href={address}>
          {job.target}
        </a>
        {part !== '' && <span class="soft"> {part}</span>}
      </td>
      <td class="user" title={user}>
        {user}
      </td>
      <td class="start">
        <Ago at={job.start} />
      </td>
      <td class={job.estimate?.longest_seconds === 0 ? 'took late' : 'took'}>
        <JobDuration job={job} />
      </td>
      <td class="runner" title={job.runner ?? undefined}>
        {job.runner ?? words.none}
      </td>
      <td class="now">
        <Now job={job} />
      </td>
      <td class="actions">
        <RowMenu id={job.id} />
      </td>
    </tr>
  )
}

/** Where a job is, or why it ended as it did. */
function Now({ job: { place, estimate, status_reason: reason } }: { readonly job: JobRecord }) {
  if (place) {
    return (
      <>
        {estimate && place.state !== 'lost' && (
          <>
            <Left estimate={estimate} />
            {' · '}
          </>
        )}
        <Place place={place} />
      </>
    )
  }
  if (reason === null) return null
  const text = localText(reason)
  return (
    <span class="soft" title={text}>
      {text}
    </span>
  )
}
