import type { Job } from '@holdfast/client'
import { Fragment } from 'preact'
import lazy from 'preact-iso/lazy'
import { useRoute } from 'preact-iso/router'
import { addressOf } from '../../live/address.js'
import { useAgain } from '../../live/again.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Content, PageTitle } from '../../parts/content.js'
import { SafeHtml } from '../../parts/safe-html.js'
import { JobStatus } from '../../parts/status.js'
import { localText, timeText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { words } from '../../words/en.js'
import { Decision } from './decision.js'
import { JobFacts } from './job-facts.js'
import { JobButtons } from './job-buttons.js'
import { OutputTab } from './output-tab.js'

// The list of jobs loads its menu together with this page, because both have the same buttons.
export { JobMenu } from './job-buttons.js'

const others = () => import('./other-tabs.js')
const TasksTab = lazy(() => others().then(({ TasksTab: tab }) => tab))
const TimelineTab = lazy(() => others().then(({ TimelineTab: tab }) => tab))
const CompareTab = lazy(() => others().then(({ CompareTab: tab }) => tab))
const Values = lazy(() => others().then(({ Values: tab }) => tab))
const History = lazy(() => others().then(({ History: tab }) => tab))
const WhyFailed = lazy(() => others().then(({ WhyFailed: card }) => card))
const NodesTab = lazy(() => others().then(({ NodesTab: tab }) => tab))

const TABS = ['output', 'nodes', 'tasks', 'timeline', 'compare', 'values', 'history'] as const
/** Of jobs that consist of other jobs, and of all others. */
const isParent = ({ job_type: type }: Job) => type === 'workflow' || type === 'multistep'
const hasTab = (job: Job, tab: (typeof TABS)[number]) => (isParent(job) ? tab !== 'tasks' : tab !== 'nodes')

/** One job: its state, its buttons, and below them its output, values and history. */
export function JobPage() {
  const { params } = useRoute()
  const id = Number(params.id)
  const tab = TABS.find((name) => name === params.tab) ?? 'output'
  const answer = useAnswer(`job/${id}`, ['jobs'], (signal) => api.getJob({ id, output: false }, { signal }))
  useAgain(answer.reload, Boolean(answer.value?.estimate))
  return (
    <>
      {answer.value === null && <PageTitle text={words.job.title(id)} />}
      <Content answer={answer}>
        {(job) => (
          // After a restore of the database a number may belong to another job. So another run id means another job.
          <Fragment key={job.run_id}>
            <PageTitle text={words.job.title(id)}>
              {job.target === job.form ? (
                <a class="subject plain" href={addressOf(`/forms/${encodeURIComponent(job.form)}`)}>
                  {job.target}
                </a>
              ) : (
                <span class="subject">{job.target}</span>
              )}
              <JobStatus job={job} />
              <JobButtons job={job} />
            </PageTitle>
            {job.status_reason !== null && <p class="reason-line">{localText(job.status_reason)}</p>}
            {job.status === 'failed' && !isParent(job) && Boolean(job.streams?.events.count) && <WhyFailed job={job} />}
            {job.detail !== null && <p class="notice warn">{job.detail}</p>}
            {job.abandoned_at !== null && job.status === 'abandoned' && (
              <p class="notice warn">{words.job.abandonedAt(timeText(job.abandoned_at))}</p>
            )}
            <JobFacts job={job} />
            <Approval job={job} reload={answer.reload} />
            <nav class="tabs" aria-label={words.job.tabs}>
              {TABS.filter((name) => hasTab(job, name)).map((name) => (
                <a
                  key={name}
                  href={addressOf(name === 'output' ? `/jobs/${id}` : `/jobs/${id}/${name}`)}
                  aria-current={name === tab ? 'page' : undefined}
                >
                  {words.job[name]}
                </a>
              ))}
            </nav>
            {tab === 'output' && <OutputTab job={job} />}
            {tab === 'nodes' && <NodesTab key={id} job={job} />}
            {tab === 'tasks' && <TasksTab key={id} job={job} />}
            {tab === 'timeline' && <TimelineTab key={id} job={job} />}
            {tab === 'compare' && <CompareTab key={id} job={job} />}
            {tab === 'values' && <Values job={job} />}
            {tab === 'history' && <History job={job} />}
          </Fragment>
        )}
      </Content>
    </>
  )
}

function Approval({ job, reload }: { readonly job: Job; readonly reload: () => void }) {
  const { approval } = job
  if (approval === null) return null
  const { decided_at: time, decided_by: who, decided_by_type: kind, state } = approval
  if (state !== 'waiting') {
    const word = state === 'approved' ? words.approval.approved : words.approval.rejected
    return time === null || who === null ? null : (
      <p class="soft">{words.approval.decided(word, userName(who, kind), timeText(time))}</p>
    )
  }
  return (
    <section class="card waits" aria-labelledby="approval">
      <h2 id="approval">{approval.title ?? words.approval.waits}</h2>
      {approval.message !== null && <SafeHtml html={approval.message} />}
      <p class="soft">
        {words.approval.asked(userName(job.user, job.user_type), timeText(job.start))}.{' '}
        {words.approval.who(approval.roles.join(', '))}
      </p>
      <Decision job={job} done={reload} />
    </section>
  )
}
