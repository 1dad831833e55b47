import type { JobRecord } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, Empty, PageTitle } from '../../parts/content.js'
import { Json } from '../../parts/copy.js'
import { SafeHtml } from '../../parts/safe-html.js'
import { timeText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { words } from '../../words/en.js'
import { Decision } from '../job/decision.js'

/** Everything that waits for an approval of the caller, to be decided without leaving the list. */
export function ApprovalsPage() {
  const answer = useAnswer('approvals', ['jobs'], (signal) => api.listJobs({ waiting: true, records: 200 }, { signal }))
  return (
    <>
      <PageTitle text={words.approval.title} />
      <Content answer={answer}>
        {({ records }) =>
          records.length === 0 ? (
            <Empty text={words.approval.empty} />
          ) : (
            <ul class="cards">
              {records.map((job) => (
                <Waiting key={job.id} job={job} done={answer.reload} />
              ))}
            </ul>
          )
        }
      </Content>
    </>
  )
}

function Waiting({ job, done }: { readonly job: JobRecord; readonly done: () => void }) {
  const { approval } = job
  const detail = useAnswer(`job/${job.id}`, ['jobs'], (signal) => api.getJob({ id: job.id, output: false }, { signal }))
  return (
    <li class="card">
      <h2>
        <a href={addressOf(`/jobs/${job.id}`)}>
          {words.job.title(job.id)}: {job.target}
        </a>
      </h2>
      <p class="soft">{words.approval.asked(userName(job.user, job.user_type), timeText(job.start))}</p>
      {approval?.title && <h3>{approval.title}</h3>}
      {approval?.message && <SafeHtml html={approval.message} />}
      {detail.value && (
        <details>
          <summary>{words.approval.willRun}</summary>
          <Json value={detail.value.extravars} label={words.approval.variables(job.id)} />
        </details>
      )}
      <Decision job={detail.value ?? job} done={done} />
    </li>
  )
}
