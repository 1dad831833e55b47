import type { Logger } from 'pino'
import type { Clock } from '../time/clock.js'
import { type JobApproval, awaitedApproval } from '../jobs/record/approval.js'
import type { ApprovalSubjects } from '../jobs/record/approval-subject.js'
import { maskValues } from '../jobs/secrets/masking.js'
import { passwordFieldsOf } from '../jobs/record/password-fields.js'
import type { RunnerPort } from '../jobs/record/runner-port.js'
import { splitVariables } from '../jobs/secrets/secret-values.js'
import { isSequence } from '../jobs/record/sequence-port.js'
import type { LiveEvents } from '../live/live-events.js'
import { type JobSummaryRow, findJobSummary } from '../store/jobs/jobs.js'
import { takeTurn } from '../store/jobs/sequences.js'
import { readServiceTime } from '../store/service/service-clock.js'
import type { Queries } from '../store/store.js'
import { type Decision, NOTHING, type OpenSequence, type SequenceKind, type Values } from './kind.js'
import { type ChildJobDependencies, type PreparedChildJob, prepareChildJob } from './child-jobs.js'
import { type AbortStep, type EndedNodes, abortStep, collectEnded } from './ended-nodes.js'
import { TurnWriter } from './turn-writer.js'
import { type ParentJob, readParentJob } from './parent-job.js'

/** What one step of a parent job needs of other parts. */
export interface AdvanceDependencies extends ChildJobDependencies {
  readonly clock: Clock
  readonly live: LiveEvents
  readonly runners: RunnerPort
  readonly log: Logger
  readonly kinds: readonly SequenceKind[]
  readonly subjects: Pick<ApprovalSubjects, 'now'>
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
}

/** What one turn has stored. Others are informed about it after the commit. */
interface Done {
  readonly runners: readonly number[]
  /** New child jobs that are parent jobs themselves. */
  readonly begun: readonly number[]
  readonly aborts: readonly JobSummaryRow[]
  readonly isOver: boolean
}

/** The result of a turn. `taken`: a step was stored, so look again. `rest`: the parent job waits for something. */
export interface Turn {
  readonly result: 'taken' | 'rest'
  /** Other parent jobs for which this turn stored something. */
  readonly others: readonly number[]
}

const REST: Turn = { result: 'rest', others: [] }

/**
 * Moves a parent job on by one step. All of it is one write, guarded against a second writer (`takeTurn`): it stores
 * which child jobs have ended, decides what is next, creates jobs, asks for an approval, or ends the parent job. The
 * service may stop before or after that write. The next look at the database then decides the same, or the step after
 * it.
 */
export async function takeStep(deps: AdvanceDependencies, jobId: number): Promise<Turn> {
  const parent = await readParentJob(deps.store.read, deps.vault, jobId)
  if (!parent) return REST
  const { job } = parent
  const isAbort = job.abort_requested === 1
  const waits = job.status === 'approve'
  // While the form's own approval is open, no child job has begun.
  if (waits ? !isAbort && !parent.nodes.some(({ status }) => status === 'approve') : job.status !== 'running')
    return REST
  // It waits for a place in its group.
  if (job.dispatch === 'parked' && !waits) return REST
  const kind = deps.kinds.find(({ jobType }) => jobType === job.job_type)
  if (!kind) throw new Error(`no such kind of job: ${job.job_type}`)
  const sequence = kind.open(parent.launch.plan)
  const now = deps.clock.now()
  const { time: serviceTime } = await readServiceTime(deps.store.read)
  const facts = { extravars: parent.extravars, now, serviceTime }
  const outcomes = collectEnded(parent.nodes, now)
  const found = { ...outcomes, nodes: await withArtifacts(deps.store.read, sequence, outcomes) }
  const { nodes } = found
  const abort = isAbort ? abortStep(nodes, parent) : null
  const decision = abort ? NOTHING : sequence.decide(nodes, facts)
  if (isNothing(found, abort, decision)) return REST

  const parts: PreparedChildJob[] = []
  for (const identifier of decision.start) {
    parts.push(await prepareChildJob(deps, parent, identifier, await sequence.childJob(identifier, nodes, facts)))
  }
  const { ask } = decision
  const shown = ask === null ? undefined : sequence.approvalValues?.(ask, nodes, facts)
  const approval = ask === null ? null : await approvalFor(deps, parent, sequence.approval(ask), shown)

  const done = await deps.store.write('sequences.advance', async (queries): Promise<Done | null> => {
    if (!(await takeTurn(queries, jobId, parent.version))) return null
    if (!(await isSame(queries, job))) return null
    const turn = new TurnWriter(queries, sequence, parent, now)
    await turn.storeEnded(found)
    if (waits && !abort) await turn.goOn()
    await turn.storeChanges(abort?.changes ?? decision.changes)
    const aborts = await turn.passOn(abort?.passOn ?? [])
    const begun = await turn.start(deps, parts)
    if (decision.ask !== null && approval) await turn.ask(decision.ask, approval)
    if (abort?.isOver) await turn.endAborted()
    if (decision.end) await turn.end(decision.end)
    const ready = parts.filter(({ runner, problem }) => runner && problem === null)
    return {
      runners: ready.flatMap(({ runner }) => (runner ? [runner.id] : [])),
      begun,
      aborts,
      isOver: decision.end !== null || abort?.isOver === true,
    }
  })
  return done ? announce(deps, job, done) : { result: 'taken', others: [] }
}

/** The nodes, with the data that the nodes which have just ended pass on. */
async function withArtifacts(queries: Queries, sequence: OpenSequence, { ended, nodes }: EndedNodes) {
  const gathered = [...nodes]
  for (const { node } of ended) {
    const artifacts = await sequence.artifactsOf?.(queries, node, gathered)
    if (artifacts)
      gathered[nodes.findIndex(({ identifier }) => identifier === node.identifier)] = { ...node, artifacts }
  }
  return gathered
}

/** Whether the facts of the decision are still true. */
async function isSame(queries: Queries, job: ParentJob['job']): Promise<boolean> {
  const current = await findJobSummary(queries, job.id)
  return current?.status === job.status && current.abort_requested === job.abort_requested
}

function isNothing(found: EndedNodes, abort: AbortStep | null, decision: Decision): boolean {
  const { changes, start, ask, end } = decision
  const hasEnded = found.ended.length + found.lost.length > 0
  const isAbort = abort !== null && (abort.isOver || abort.changes.length + abort.passOn.length > 0)
  return !hasEnded && !isAbort && changes.length + start.length === 0 && ask === null && end === null
}

async function approvalFor(
  { maskPattern, subjects }: Pick<AdvanceDependencies, 'maskPattern' | 'subjects'>,
  { job, extravars, secrets }: ParentJob,
  asked: Parameters<typeof awaitedApproval>[0],
  shown: Values = extravars,
): Promise<JobApproval> {
  const open = splitVariables(shown, secrets).shown
  const masked = maskValues(open, maskPattern, new Set(passwordFieldsOf(job)))
  return awaitedApproval(asked, masked, await subjects.now(job))
}

function announce({ live, runners }: AdvanceDependencies, job: ParentJob['job'], done: Done): Turn {
  live.changed('jobs')
  for (const id of new Set(done.runners)) runners.jobQueued(id)
  for (const { runner_id, id, run_id } of done.aborts) {
    if (runner_id !== null) runners.abortRequested(runner_id, id, run_id)
  }
  const parent = done.isOver && job.parent_id !== null ? [job.parent_id] : []
  return { result: 'taken', others: [...parent, ...done.begun, ...done.aborts.filter(isSequence).map(({ id }) => id)] }
}
