import type { Logger } from 'pino'
import type { Clock } from '../clock.js'
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

/** What was done in a turn, for those who are to hear of it after the commit. */
interface Done {
  readonly runners: readonly number[]
  /** New jobs that consist of others. */
  readonly begun: readonly number[]
  readonly aborts: readonly JobSummaryRow[]
  readonly isOver: boolean
}

/** What a turn comes to: `taken`: look again; `rest`: something has to happen first. */
export interface Turn {
  readonly result: 'taken' | 'rest'
  /** Other sequences for which this one has done something. */
  readonly others: readonly number[]
}

const REST: Turn = { result: 'rest', others: [] }

/**
 * Moves a sequence on by one step, all of it in one write, if nobody else did meanwhile (`takeTurn`): what has ended is
 * noted, what comes next is decided, jobs are made, an approval is asked for, the parent job ends. Whatever stops the
 * service before or after that write: the next look at the database decides the same, or what comes after.
 */
export async function takeStep(deps: AdvanceDependencies, jobId: number): Promise<Turn> {
  const parent = await readParentJob(deps.store.read, deps.vault, jobId)
  if (!parent) return REST
  const { job } = parent
  const isAbort = job.abort_requested === 1
  const waits = job.status === 'approve'
  // While the form's own approval is waited for, nothing has begun.
  if (waits ? !isAbort && !parent.nodes.some(({ status }) => status === 'approve') : job.status !== 'running')
    return REST
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

/** The nodes with what those hand on that have just ended. */
async function withArtifacts(queries: Queries, sequence: OpenSequence, { ended, nodes }: EndedNodes) {
  const gathered = [...nodes]
  for (const { node } of ended) {
    const artifacts = await sequence.artifactsOf?.(queries, node, gathered)
    if (artifacts)
      gathered[nodes.findIndex(({ identifier }) => identifier === node.identifier)] = { ...node, artifacts }
  }
  return gathered
}

/** Whether what was decided upon is still so. */
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
