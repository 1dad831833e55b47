import type { Job, JobNodeList } from '@holdfast/client'
import { addressOf } from '../../live/address.js'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Fact } from '../../parts/fact.js'
import { Content } from '../../parts/content.js'
import { Json } from '../../parts/copy.js'
import { Dialog } from '../../parts/dialog.js'
import { SafeHtml } from '../../parts/safe-html.js'
import { JobStatus, Status, isQueued } from '../../parts/status.js'
import { Time, timeText } from '../../parts/time.js'
import { userName } from '../../parts/user-name.js'
import { graphWords } from '../../words/en-graph.js'
import { words } from '../../words/en.js'
import { Decision } from './decision.js'

type JobNode = JobNodeList['records'][number]

interface NodeDrawerProps {
  /** The job of the workflow, or of the steps. */
  readonly job: Job
  readonly node: JobNode
  /** Somebody has approved or rejected the node. */
  readonly done: () => void
  readonly onClose: () => void
}

/** All about one node of a workflow or one step. If it waits for an approval, it is approved or rejected here. */
export function NodeDrawer({ job, node, done, onClose }: NodeDrawerProps) {
  const { identifier, name, type, reason, start, end, job: nodeJob } = node
  return (
    <Dialog title={graphWords.node(identifier)} onClose={onClose}>
      <dl class="facts drawer">
        <Fact name={graphWords.columns.status}>
          <NodeStatus node={node} />
          {reason !== null && <span class="soft reason">{reason}</span>}
        </Fact>
        <Fact name={graphWords.type}>{graphWords.typeOf[type] ?? type}</Fact>
        <Fact name={graphWords.columns.runs}>{name}</Fact>
        {nodeJob !== null && (
          <Fact name={graphWords.columns.job}>
            <a href={addressOf(`/jobs/${nodeJob}`)}>{words.job.title(nodeJob)}</a>
          </Fact>
        )}
        <Fact name={graphWords.columns.start}>
          <Time at={start} />
        </Fact>
        <Fact name={words.job.end}>
          <Time at={end} />
        </Fact>
      </dl>
      {/* Steps of a multistep job have no more than that. */}
      {job.job_type === 'workflow' && <More job={job} node={node} done={done} />}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
    </Dialog>
  )
}

/** What only the node itself tells: its approval, its values, and what it published. */
function More({ job, node: { identifier, status }, done }: Omit<NodeDrawerProps, 'onClose'>) {
  const { id } = job
  // Another status is another answer. It is also read again, because somebody else may have decided.
  const answer = useAnswer(`node/${id}/${identifier}/${status}`, ['jobs'], (signal) =>
    api.getJobNode({ id, nodeId: identifier }, { signal }),
  )
  return (
    <Content answer={answer}>
      {({ node: { approval }, extravars, artifacts }) => (
        <>
          {approval && <Approval job={job} node={identifier} approval={approval} done={done} />}
          <Values title={words.job.extravars} values={extravars} />
          <Values title={graphWords.artifacts} values={artifacts} />
        </>
      )}
    </Content>
  )
}

interface ApprovalProps {
  readonly job: Job
  readonly node: string
  readonly approval: NonNullable<Job['approval']>
  readonly done: () => void
}

function Approval({ job, node, approval, done }: ApprovalProps) {
  const { title, message, roles, state, decided_by: who, decided_by_type: kind, decided_at: time } = approval
  const word = state === 'approved' ? words.approval.approved : words.approval.rejected
  return (
    <section>
      <h3>{title ?? words.approval.waits}</h3>
      {message !== null && <SafeHtml html={message} />}
      {who !== null && time !== null && (
        <p class="soft">{words.approval.decided(word, userName(who, kind), timeText(time))}</p>
      )}
      {state === 'waiting' && <p class="soft">{words.approval.who(roles.join(', '))}</p>}
      {/* A workflow waits for one approval at a time: for that of the node at which it is. */}
      {state === 'waiting' && job.status === 'approve' && job.step === node && <Decision job={job} done={done} />}
    </section>
  )
}

function Values({ title, values }: { readonly title: string; readonly values: object }) {
  if (Object.keys(values).length === 0) return null
  return (
    <section>
      <h3>{title}</h3>
      <Json value={values} label={title} />
    </section>
  )
}

/** The status of a node: that of its job, or a word for a node that has none. */
export function NodeStatus({ node }: { readonly node: JobNode }) {
  const { status, job, began } = node
  const text = graphWords.status[status]
  if (text !== undefined) return <span class="status off">{text}</span>
  return job === null ? <Status status={status} /> : <JobStatus job={{ status, began }} />
}

/** The job of the node waits for a runner or for a place. */
export const isQueuedNode = ({ status, job, began }: JobNode) => job !== null && isQueued({ status, began })
