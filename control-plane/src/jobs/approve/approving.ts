import { ConflictError, UnavailableError } from '../../errors.js'
import { launcherName, shownName } from '../../auth/sessions/shown-name.js'
import { approvalOf, decided } from '../record/approval.js'
import type { Queries, Store } from '../../store/store.js'
import { type SequencePort, isSequence } from '../record/sequence-port.js'
import { updateApproval } from '../../store/jobs/approvals.js'
import { noteAct } from '../../store/service/notification-events.js'
import {
  type JobMove,
  type JobRow,
  type JobSummaryRow,
  findJob,
  findJobSummary,
  moveJob,
} from '../../store/jobs/jobs.js'
import { failJob } from '../end/ending.js'
import { announceAdmitted } from '../limits/job-limits.js'
import { admitNew } from '../limits/places.js'
import { type Runner, findRunner, findRunnerByName } from '../../store/runners/runners.js'
import type { RunnerPort } from '../record/runner-port.js'
import { type ApprovalSubject, type ApprovalSubjects, subjectChanges } from '../record/approval-subject.js'
import { type Clock, isoTime } from '../../time/clock.js'
import type { Caller } from '../../auth/sessions/caller.js'
import type { AccountGrant, Grants } from '../../auth/roles/grants.js'
import { forbiddenCredential, needsOfJob } from '../needs/credential-needs.js'
import { runnerProblem } from '../needs/runner-choice.js'
import type { JobStatus } from '../../words/job-status.js'
import {
  type TakenDecision,
  gone,
  requireRightToApprove,
  requireRightToReject,
  requireTaken,
} from './decision-rights.js'
import type { LiveEvents } from '../../live/live-events.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'

/** What decisions about approvals need of other parts. */
export interface ApprovingDependencies {
  readonly store: Store
  readonly live: LiveEvents
  readonly clock: Clock
  readonly runners: RunnerPort
  readonly sequences: Pick<SequencePort, 'advance' | 'endsWithRejection' | 'noteDecision' | 'closeWaiting'>
  readonly grants: Grants
  readonly subjects: Pick<ApprovalSubjects, 'now'>
}

/** What an approval is given for: the content that the job would run now. */
interface Given {
  /** Null: the job is rejected, or it does not wait. */
  readonly subject: ApprovalSubject | null
  /** What has changed since the approval was asked for, in words. It is empty unless the approval was forced. */
  readonly changes: readonly string[]
}

const NOTHING_GIVEN: Given = { subject: null, changes: [] }

/** The result of an approval. */
export interface Approved {
  readonly message: string
  /** The changes since the approval was asked for, which were approved nevertheless. */
  readonly changes: readonly string[]
}

/**
 * Approves a waiting job and starts it. Changes while the job waited count. The job fails with the reason when its
 * runner is gone or turned off, when whoever launched it may not use that runner any more, or when their account was
 * blocked or deleted. When the job would run something else than what the approval was asked for, the caller gets an
 * error and the job goes on waiting. With `force` the caller approves the new content.
 * @param force approve the present content, also if it has changed
 * @throws NotFoundError, ForbiddenError, ConflictError, UnavailableError
 */
export async function approve(
  dependencies: ApprovingDependencies,
  caller: Caller,
  id: number,
  force = false,
): Promise<Approved> {
  const { store } = dependencies
  const asked = await findJob(store.read, id)
  if (!asked) throw gone(id)
  requireRightToApprove(caller, asked)
  const given = await givenNow(dependencies, asked, force)
  const message = isSequence(asked)
    ? await approveSequence(dependencies, caller, asked, given)
    : await approveJob(dependencies, caller, asked, given)
  return { message, changes: given.changes }
}

/**
 * What the job would run now.
 * @throws ConflictError when the approval was asked for something else, UnavailableError
 */
async function givenNow({ subjects }: ApprovingDependencies, asked: JobRow, force: boolean): Promise<Given> {
  // The job does not wait any more. `take` below answers the caller.
  const approval = approvalOf(asked)
  if (asked.status !== 'approve' || approval === null) return NOTHING_GIVEN
  const subject = await subjects.now(asked)
  if (subject.manifest_sha256 === null) {
    const why = 'the playbook folder cannot be read, so nobody can say what would run'
    throw new UnavailableError('playbook_folder', `Job ${asked.id} cannot be approved now: ${why}`)
  }
  const changes = subjectChanges(approval.subject, subject)
  if (changes.length === 0 || force) return { subject, changes }
  throw new ConflictError(
    'changed_since_asked',
    `Job ${asked.id} would not run what its approval was asked for. Changed: ${changes.join(', ')}. Look at it again; ` +
      'with force you approve it as it is now',
    { asked: approval.subject, now: subject },
  )
}

async function approveJob(
  { store, live, clock, runners, grants, sequences }: ApprovingDependencies,
  caller: Caller,
  asked: JobRow,
  given: Given,
): Promise<string> {
  const { id } = asked
  const launcher = await grants.of(asked)
  const now = clock.now()
  const result = await store.write('jobs.approve', async (queries) => {
    const runner = await runnerNow(queries, asked)
    const problem = problemNow(asked, runner, launcher)
    const bound = { approved_manifest: given.subject?.manifest_sha256 ?? null }
    const group = groupOf(asked)
    const dispatch = group === null ? ('queued' as const) : ('parked' as const)
    const changes = { dispatch, runner_id: runner?.id ?? null, wait_until: null, ...bound }
    const move: JobMove<'running'> = { from: ['approve'], to: 'running', time: now, reason: null, changes }
    const taken = await take(sequences, queries, caller, asked, 'approved', now, move, given)
    if (taken.isTaken && problem !== null) await failJob(queries, id, problem, now)
    const admitted = taken.isTaken && problem === null ? await admitNew(queries, id, group, now) : []
    return { ...taken, runner: group === null ? runner : null, problem, admitted }
  })
  requireTaken(result, id)
  live.changed('jobs')
  if (result.problem !== null) return `Job ${id} was approved and failed at once: ${result.problem}`
  announceAdmitted({ runners, sequences }, result.admitted)
  if (result.runner) runners.jobQueued(result.runner.id)
  return `Job ${id} was approved`
}

/** Each child job checks what has changed while the approval waited, when the child job starts. */
async function approveSequence(
  { store, live, clock, runners, sequences }: ApprovingDependencies,
  caller: Caller,
  asked: JobRow,
  given: Given,
): Promise<string> {
  const now = clock.now()
  const bound = { approved_manifest: given.subject?.manifest_sha256 ?? null }
  // A parent job keeps its place in its group while one of its steps or nodes waits for an approval. Before its own
  // approval it has no place.
  const group = asked.has_place === 1 ? null : groupOf(asked)
  const move = goesOn(now, bound, group === null ? 'driven' : 'parked')
  const result = await store.write('jobs.approve', async (queries) => {
    const taken = await take(sequences, queries, caller, asked, 'approved', now, move, given)
    return { ...taken, admitted: taken.isTaken ? await admitNew(queries, asked.id, group, now) : [] }
  })
  requireTaken(result, asked.id)
  live.changed('jobs')
  announceAdmitted({ runners, sequences }, result.admitted)
  if (group === null) sequences.advance(asked.id)
  return `Job ${asked.id} was approved`
}

/** Lets a parent job go on. Its child jobs run only what was approved. */
function goesOn(
  now: number,
  bound: { readonly approved_manifest?: string | null } = {},
  dispatch: 'driven' | 'parked' = 'driven',
): JobMove<'running'> {
  const changes = { dispatch, ...bound }
  return { from: ['approve'], to: 'running', time: now, reason: null, changes }
}

/**
 * Rejects a waiting job. It ends `rejected` and never runs. Whoever launched the job may reject it, too.
 * @throws NotFoundError, ForbiddenError, ConflictError
 */
export async function reject(
  dependencies: Pick<ApprovingDependencies, 'store' | 'live' | 'clock' | 'sequences'>,
  caller: Caller,
  id: number,
): Promise<string> {
  const { store, live, clock, sequences } = dependencies
  const asked = await findJobSummary(store.read, id)
  if (!asked) throw gone(id)
  requireRightToReject(caller, asked)
  const now = clock.now()
  const reason = `rejected by ${shownName(caller)}`
  const endsHere = asked.step === null || sequences.endsWithRejection(asked.job_type)
  const result = await store.write('jobs.reject', async (queries) => {
    const changes = { end_time: now, dispatch: 'done' as const }
    // The move of a job that ends with its rejection. A workflow goes on instead, and its own rules end it.
    const ends: JobMove<'rejected'> = { from: ['approve'], to: 'rejected', time: now, reason, changes }
    const taken = endsHere
      ? await take(sequences, queries, caller, asked, 'rejected', now, ends)
      : await take(sequences, queries, caller, asked, 'rejected', now, goesOn(now))
    if (taken.isTaken && endsHere) await sequences.closeWaiting(queries, id, { reason, time: now })
    return taken
  })
  requireTaken(result, id)
  live.changed('jobs')
  if (!endsHere) sequences.advance(id)
  else if (asked.parent_id !== null) sequences.advance(asked.parent_id)
  return `Job ${id} was rejected`
}

/**
 * Approves a waiting job that its runner has already. Somebody approved it before, and the database that knew about it
 * was replaced by an older backup. The job runs, so it is shown as running.
 */
export async function approvedBefore(
  queries: Queries,
  job: Pick<JobSummaryRow, 'id' | 'runner_name'>,
  now: number,
): Promise<void> {
  // The job runs, so it counts in its group, also if there was no free place.
  const changes = { dispatch: 'queued' as const, has_place: 1 }
  await moveJob(queries, job.id, { from: ['approve'], to: 'running', time: now, reason: null, changes })
  const approval = approvalOf((await findJobSummary(queries, job.id)) ?? { approval: null })
  if (approval) await updateApproval(queries, job.id, JSON.stringify({ ...approval, state: 'approved' }))
  const why = 'this database was restored from a backup of before its approval'
  await appendServiceLine(
    queries,
    job.id,
    `[WARNING]: The runner '${job.runner_name ?? ''}' has this job already: ${why}`,
  )
}

/**
 * Moves the job if it still waits for the approval that the caller was allowed to decide about. Stores who decided, in
 * the job and in its output.
 */
async function take<To extends JobStatus>(
  sequences: Pick<SequencePort, 'noteDecision'>,
  queries: Queries,
  caller: Caller,
  asked: Pick<JobSummaryRow, 'id' | 'approval'>,
  state: 'approved' | 'rejected',
  now: number,
  move: JobMove<To>,
  { subject, changes }: Given = NOTHING_GIVEN,
): Promise<TakenDecision> {
  const { id } = asked
  const job = await findJobSummary(queries, id)
  const approval = job && approvalOf(job)
  const isSame = approval !== null && job?.approval === asked.approval
  if (!isSame || !(await moveJob(queries, id, move))) return { job, isTaken: false }
  const about = subject ? { subject, forced: changes.length > 0 } : {}
  const decision = JSON.stringify({ ...decided(approval, state, caller, now), ...about })
  await updateApproval(queries, id, decision)
  await noteAct(queries, id, state === 'approved' ? 'approve' : 'reject', now)
  // In a parent job, the step or workflow node waits, not the job itself.
  if (job.step !== null) await sequences.noteDecision(queries, id, job.step, decision)
  const word = state === 'approved' ? 'Approved' : '[WARNING]: Rejected'
  await appendServiceLine(queries, id, `${word} by ${shownName(caller)} at ${isoTime(now)}`)
  if (changes.length > 0) {
    await appendServiceLine(queries, id, `[WARNING]: Changed since the approval was asked for: ${changes.join(', ')}`)
  }
  return { job, isTaken: true }
}

/** The group in which a job has to get a place; null: the job has no group. */
function groupOf({ concurrency_group: name, concurrency_limit: limit }: JobRow) {
  return name === null ? null : { name, limit: limit ?? 1 }
}

/** The runner of a job as it is now: the same runner, or the runner that has its name now. */
async function runnerNow(queries: Queries, job: JobRow): Promise<Runner | null> {
  const same = job.runner_id === null ? null : await findRunner(queries, job.runner_id)
  if (same || job.runner_name === null) return same
  return findRunnerByName(queries, job.runner_name)
}

/** The reason why an approved job cannot start, or null. */
function problemNow(job: JobRow, runner: Runner | null, launcher: AccountGrant): string | null {
  if (launcher.account === 'blocked') return `The account of ${launcherName(job)}, who launched this job, is blocked`
  if (launcher.account === 'none') return `The account of ${launcherName(job)}, who launched this job, was deleted`
  if (runner === null) return `The runner '${job.runner_name ?? ''}' of this job was deleted`
  const problem = runnerProblem(runner)
  if (problem !== null) return problem
  const { isAdmin, allowedRunners } = launcher
  if (!isAdmin && allowedRunners && !allowedRunners.includes(runner.name)) {
    return `The roles of ${launcherName(job)} do not allow jobs on the runner '${runner.name}' any more`
  }
  const credential = forbiddenCredential(launcher, needsOfJob(job))
  return credential === null
    ? null
    : `The roles of ${launcherName(job)} do not allow the credential '${credential}' any more`
}
