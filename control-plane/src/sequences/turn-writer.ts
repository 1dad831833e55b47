import { abortUnstarted, endJob } from '../jobs/end/ending.js'
import { type JobApproval, askForApproval } from '../jobs/record/approval.js'
import { type JobMove, type JobSummaryRow, findJobSummary, moveJob, requestAbort } from '../store/jobs/jobs.js'
import { type NodeChange, changeNode, closeNodes, setStep } from '../store/jobs/sequences.js'
import { appendServiceLine } from '../store/jobs/job-streams.js'
import { updateApproval } from '../store/jobs/approvals.js'
import type { Queries } from '../store/store.js'
import type { End, NodeResult, NodeState, OpenSequence, SequenceEvent } from './kind.js'
import { requireLegalMove } from './node-status.js'
import { type ChildJobDependencies, type PreparedChildJob, insertChildJob } from './child-jobs.js'
import type { EndedNodes } from './ended-nodes.js'
import type { ParentJob } from './parent-job.js'

/** The writes of one turn, all in one transaction. */
export class TurnWriter {
  #nodes: NodeState[]

  constructor(
    private readonly queries: Queries,
    private readonly sequence: OpenSequence,
    private readonly parent: ParentJob,
    private readonly now: number,
  ) {
    this.#nodes = [...parent.nodes]
  }

  async storeEnded({ ended, lost, nodes }: EndedNodes): Promise<void> {
    this.#nodes = [...nodes]
    for (const { node, status } of ended) {
      requireLegalMove('running', status)
      const after = nodes.find(({ identifier }) => identifier === node.identifier) ?? node
      const artifacts = JSON.stringify(after.artifacts)
      await this.#change(node.identifier, { status, reason: node.reason, end_time: node.endTime, artifacts })
      await this.#writeOutput({ what: 'ended', node: after })
    }
    for (const { identifier, subjobId, subjob } of lost) {
      await this.#change(identifier, { reason: `waits for the real outcome of job ${subjobId ?? ''}` })
      const why = subjob?.reason === null || subjob === null ? '' : ` (${subjob.reason})`
      await this.#say(
        `[WARNING]: Job ${subjobId ?? ''} of '${identifier}' was given up${why} and may still be at work: what follows ` +
          `waits for its real outcome. Aborting job ${this.parent.job.id} ends the wait.`,
      )
    }
  }

  /** Lets the parent job go on. It does not wait for its approval any more, although nobody gave or rejected it. */
  async goOn(): Promise<void> {
    const changes = { dispatch: 'driven' as const }
    const move: JobMove<'running'> = { from: ['approve'], to: 'running', time: this.now, reason: null, changes }
    await moveJob(this.queries, this.parent.job.id, move)
  }

  async storeChanges(changes: readonly NodeResult[]): Promise<void> {
    for (const change of changes) {
      const { identifier, status, reason, dueTime } = change
      requireLegalMove(this.#statusOf(identifier), status)
      const times = status === 'approve' ? { start_time: this.now, due_time: dueTime ?? null } : { end_time: this.now }
      await this.#change(identifier, { status, reason, ...times, ...kept(change) })
      this.#note(identifier, { status, reason })
      await this.#writeOutput({ what: 'changed', change })
    }
  }

  /** @returns the jobs whose runners, or whose own child jobs, have to hear of the abort */
  async passOn(nodes: EndedNodes['nodes']): Promise<JobSummaryRow[]> {
    const asked: JobSummaryRow[] = []
    const by = this.parent.job.abort_requested_by ?? ''
    for (const { subjobId } of nodes) {
      const job = subjobId === null ? null : await findJobSummary(this.queries, subjobId)
      if (!job) continue
      if (job.status === 'approve') await this.#abortAsking(job, by)
      else if (await requestAbort(this.queries, job.id, by, ['running', 'abandoned'])) {
        if (job.dispatch === 'queued' && job.status === 'running')
          await abortUnstarted(this.queries, job.id, by, this.now)
        else {
          await appendServiceLine(this.queries, job.id, `[WARNING]: Abort requested by ${by}`)
          asked.push(job)
        }
      }
    }
    return asked
  }

  /** @returns those of the started jobs that are parent jobs themselves */
  async start(deps: Pick<ChildJobDependencies, 'vault'>, parts: readonly PreparedChildJob[]): Promise<number[]> {
    const sequences: number[] = []
    for (const part of parts) {
      const { identifier } = part
      requireLegalMove(this.#statusOf(identifier), 'running')
      const subjobId = await insertChildJob(this.queries, deps, this.parent, part, this.now)
      const change = { status: 'running' as const, subjob_id: subjobId, start_time: this.now, due_time: null }
      await this.#change(identifier, { ...change, reason: null, ...kept(part) })
      await setStep(this.queries, this.parent.job.id, identifier)
      await this.#writeOutput({ what: 'started', identifier, jobId: subjobId })
      if (part.sequence) sequences.push(subjobId)
    }
    return sequences
  }

  async ask(identifier: string, approval: JobApproval): Promise<void> {
    const { id } = this.parent.job
    const json = JSON.stringify(approval)
    if (this.#statusOf(identifier) !== 'approve') requireLegalMove(this.#statusOf(identifier), 'approve')
    await this.#change(identifier, { status: 'approve', approval: json, start_time: this.now })
    await setStep(this.queries, id, identifier)
    await updateApproval(this.queries, id, json)
    const changes = { dispatch: 'parked' as const }
    await moveJob(this.queries, id, { from: ['running'], to: 'approve', time: this.now, reason: null, changes })
    await askForApproval(this.queries, { id, target: identifier }, approval, this.now)
  }

  async end({ status, reason }: End): Promise<void> {
    await this.#writeOutput({ what: 'over', nodes: this.#nodes, status })
    const { id } = this.parent.job
    if (status === 'rejected') {
      const changes = { end_time: this.now, dispatch: 'done' as const }
      await moveJob(this.queries, id, { from: ['running'], to: status, time: this.now, reason, changes })
    } else {
      await endJob(this.queries, id, { status, reason, detail: null }, this.now)
    }
  }

  async endAborted(): Promise<void> {
    const { id, abort_requested_by: by } = this.parent.job
    await this.#writeOutput({ what: 'over', nodes: this.#nodes, status: 'aborted' })
    const reason = by === null ? 'aborted' : `aborted by ${by}`
    await endJob(this.queries, id, { status: 'aborted', reason, detail: null }, this.now)
  }

  /** Aborts a child job that is a parent job itself and waits for its approval. None of its own child jobs runs. */
  async #abortAsking(job: JobSummaryRow, by: string): Promise<void> {
    const reason = `aborted by ${by}`
    await endJob(this.queries, job.id, { status: 'aborted', reason, detail: null }, this.now)
    await closeNodes(this.queries, job.id, { status: 'aborted', reason, time: this.now })
    await appendServiceLine(this.queries, job.id, `[WARNING]: ${reason}`)
  }

  #statusOf(identifier: string): NodeState['status'] {
    const node = this.#nodes.find((known) => known.identifier === identifier)
    if (!node) throw new Error(`job ${this.parent.job.id} has no step or node ${identifier}`)
    return node.status
  }

  #note(identifier: string, change: Partial<NodeState>): void {
    this.#nodes = this.#nodes.map((node) => (node.identifier === identifier ? { ...node, ...change } : node))
  }

  #change(identifier: string, change: NodeChange): Promise<void> {
    return changeNode(this.queries, this.parent.job.id, identifier, change)
  }

  #writeOutput(event: SequenceEvent): Promise<void> {
    return this.sequence.writeOutput(this.queries, this.parent.job.id, event)
  }

  #say(line: string): Promise<void> {
    return appendServiceLine(this.queries, this.parent.job.id, line)
  }
}

function kept({ artifacts }: Pick<NodeResult, 'artifacts'>): NodeChange {
  return artifacts ? { artifacts: JSON.stringify(artifacts) } : {}
}
