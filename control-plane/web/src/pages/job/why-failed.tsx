import type { Job, JobFailures } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { courseWords } from '../../words/en-course.js'
import { words } from '../../words/en.js'

/** Reasons that are shown. The page of tasks has the others. */
const GROUPS_SHOWN = 3
/** Hosts of a reason that are named. Of the others the number is said. */
const HOSTS_NAMED = 5

type Group = JobFailures['records'][number]

/** Why a job failed: what went wrong, at which task and which hosts, with links to each place in the output. */
export function WhyFailed({ job }: { readonly job: Job }) {
  const { id } = job
  const { value } = useAnswer(`job/${id}/failures`, [], (signal) => api.getJobFailures({ id }, { signal }))
  if (value === null || value.records.length === 0) return null
  const more = value.count - Math.min(value.records.length, GROUPS_SHOWN)
  return (
    <section class="card why" aria-labelledby="why">
      <h2 id="why">{courseWords.why}</h2>
      <ul>
        {value.records.slice(0, GROUPS_SHOWN).map((group) => (
          <li key={group.order}>
            <strong>{group.message ?? courseWords.noMessage[group.outcome] ?? group.outcome}</strong>
            <span class="soft">{whereText(group)}</span>
            <a href={`${addressOf(`/jobs/${id}`)}#E${group.order}`}>{courseWords.toOutput}</a>
          </li>
        ))}
      </ul>
      <p class="links">
        <a href={addressOf(`/jobs/${id}/tasks?show=failed`)}>{words.job.showFailed}</a>
        <a href={addressOf(`/jobs/${id}/compare`)}>{courseWords.compareWithGood}</a>
        {more > 0 && <span class="soft">{courseWords.moreReasons(more)}</span>}
      </p>
    </section>
  )
}

/** `Install · web1, web2 and 46 more (48 of 60 hosts)`. */
function whereText({ task, hosts, count, task_hosts: all }: Group): string {
  const named = hosts.slice(0, HOSTS_NAMED)
  const hostText = courseWords.someHosts(named.join(', '), count - named.length)
  const share = all === null || all === 1 ? '' : ` ${courseWords.hostsOf(count, all)}`
  return `${task ?? words.none} · ${hostText}${share}`
}
