import type { Caller } from '../../auth/sessions/caller.js'
import type { JobVault } from '../../credentials/job/sealed-values.js'
import { LAUNCH_WAIT_MS } from '../../forms/sandbox/asking-checks.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Queries, Store } from '../../store/store.js'
import { uploadProblem as problemOfUpload } from '../../uploads/verify.js'
import { type JobApproval, askForApproval, awaitedApproval } from '../record/approval.js'
import type { ApprovalSubjects } from '../record/approval-subject.js'
import { announceAdmitted } from '../limits/job-limits.js'
import { type Admitted, admitNew, requirePlace } from '../limits/places.js'
import type { RunnerPort } from '../record/runner-port.js'
import { type LaunchFacts, type LaunchReading, checkValues, readLaunchFacts } from './launch-facts.js'
import type { LaunchRequest } from './launch-request.js'
import { refuseUploads } from './launch-values.js'
import { type WarningLog, logCheck } from './log-check.js'
import { type LaunchPlan, planLaunch } from './plan-launch.js'
import { type JobToStore, columnsOf, sealedSecret, storeJob } from './store-job.js'

/** Who or what starts a launch instead of a person, such as a schedule. */
export interface LaunchOrigin {
  readonly schedule: { readonly id: number; readonly name: string }
  /** Which start of what it is. A repeated start has the same text (`JobVault.runIdOf`). */
  readonly start: string
  /** Runs in the transaction that stores the job. If it throws, the job is not stored. */
  stored(queries: Queries, jobId: number): Promise<void>
}

/** A job that was just created. */
export interface LaunchedJob {
  readonly id: number
  readonly unknownFields: readonly string[]
}

/** What a launch needs of other parts. */
export interface LaunchDependencies extends LaunchReading {
  readonly store: Store
  readonly live: LiveEvents
  readonly runners: RunnerPort
  readonly vault: Pick<JobVault, 'seal' | 'runIdOf'>
  readonly subjects: Pick<ApprovalSubjects, 'of'>
  readonly log: WarningLog
  /** Makes a random id of 32 hexadecimal digits. */
  readonly newRunId: () => string
}

/** How a launch checks its values. */
export const LAUNCHING = { waitMs: LAUNCH_WAIT_MS, isShowing: false }

/**
 * Creates a job and queues it, or lets it wait for the approval that its form asks for. If its runner is missing or
 * turned off, the job is created and fails at once with the reason. A job never goes to another runner instead.
 * @returns the id of the job, and the names of sent values that belong to no field, if that is no reason to refuse the
 *   launch
 * @throws NotFoundError, ForbiddenError, RefusedValuesError, TooManyError, UnavailableError, ConflictError for a group
 *   that is full; nothing is created then
 */
export async function launchJob(
  deps: LaunchDependencies,
  caller: Caller,
  request: LaunchRequest,
  origin: LaunchOrigin | null = null,
): Promise<LaunchedJob> {
  const facts = await readLaunchFacts(deps, caller, request, LAUNCHING)
  const planned = await planLaunch(facts)
  if ('refusal' in planned) throw planned.refusal
  const { plan } = planned
  await writeLog(deps, facts, plan)
  const approval = await approvalOf(deps, facts, plan)
  const job = await jobToStore(deps, facts, plan, { approval, origin })
  const { group } = job
  const { id, admitted } = await deps.store.write('jobs.launch', async (queries) => {
    if (facts.form.concurrency && group) await requirePlace(queries, facts.form.concurrency)
    const stored = await storeJob(queries, job)
    // The files were checked before, but one may be gone now. The error also undoes the insert of the job.
    if (stored.goneFiles.length > 0) refuseUploads(stored.goneFiles.map((field) => problemOfUpload(field, 'unknown')))
    await origin?.stored(queries, stored.id)
    // It runs, or has run: it needs neither an approval nor a place.
    if (stored.isAdopted) return { id: stored.id, admitted: [] }
    const now = job.row.start_time
    if (approval) await askForApproval(queries, { id: stored.id, target: job.row.form }, approval, now)
    return { id: stored.id, admitted: await admitNew(queries, stored.id, approval ? null : group, now) }
  })
  deps.live.changed('jobs')
  announce(deps, { id, job, plan }, admitted)
  return { id, unknownFields: plan.values.unknown.map(({ name }) => name) }
}

/** Tells the log what the settings want to be told about the values of a launch. */
async function writeLog(deps: LaunchDependencies, facts: LaunchFacts, { values }: LaunchPlan): Promise<void> {
  const { form, mode, rules, caller } = facts
  if (values.unknown.length > 0 && rules.unknownFields === 'warn') {
    const unknown = values.unknown.map(({ name }) => name)
    deps.log.warn({ form: form.name, unknown }, 'a launch sends values that belong to no field')
  }
  if (mode === 'log') await logCheck(deps.log, facts, values, () => checkValues(deps, caller, facts, LAUNCHING))
}

/** The approval that the new job waits for; null: it needs none. */
async function approvalOf(
  { subjects }: LaunchDependencies,
  { context, launchable: { form, planned } }: LaunchFacts,
  { approval, job }: LaunchPlan,
): Promise<JobApproval | null> {
  if (approval === null) return null
  const subjectJob = { form: form.name, playbook: JSON.stringify(job.playbook), parent_id: null, job_type: form.type }
  const subject = await subjects.of(subjectJob, form, context, planned)
  return awaitedApproval(approval.asked, approval.shown, subject)
}

/** The job of a plan, with the group in which it needs a place. */
async function jobToStore(
  { clock, newRunId, vault }: LaunchDependencies,
  { launchable: { form }, caller, request }: LaunchFacts,
  { job, files, fieldValues }: LaunchPlan,
  { approval, origin }: { readonly approval: JobApproval | null; readonly origin: LaunchOrigin | null },
): Promise<JobToStore & { readonly group: { readonly name: string; readonly limit: number } | null }> {
  const runId = origin ? vault.runIdOf(origin.start) : newRunId()
  const concurrency = job.problem === null ? form.concurrency : null
  return {
    row: {
      ...request.columns,
      ...(await columnsOf(job)),
      run_id: runId,
      form: form.name,
      job_type: form.type,
      status: approval ? 'approve' : 'running',
      dispatch: approval || concurrency ? 'parked' : job.sequence ? 'driven' : 'queued',
      start_time: clock.now(),
      user_id: caller.id,
      user_name: caller.username,
      user_type: caller.type,
      approval: approval && JSON.stringify(approval),
      raw_form_data: fieldValues === null ? null : JSON.stringify(fieldValues),
      password_fields: JSON.stringify(form.passwordFields),
      schedule_id: origin?.schedule.id ?? null,
      schedule_name: origin?.schedule.name ?? null,
      time_limit_ms: form.timeoutMs,
      concurrency_group: concurrency?.group ?? null,
      concurrency_limit: concurrency?.limit ?? null,
      notifications: form.notifications && JSON.stringify(form.notifications),
    },
    mayBeAdopted: origin !== null,
    secret: sealedSecret(vault, runId, job),
    files,
    sequence: job.sequence ?? null,
    act: request.earlier ? 'relaunch' : 'launch',
    problem: job.problem,
    group: concurrency && { name: concurrency.group, limit: concurrency.limit },
  }
}

/** Tells those who can go on, after the commit. */
function announce(
  { runners, sequences }: LaunchDependencies,
  { id, job, plan }: { readonly id: number; readonly job: JobToStore; readonly plan: LaunchPlan },
  admitted: readonly Admitted[],
): void {
  announceAdmitted({ runners, sequences }, admitted)
  if (plan.job.problem !== null || job.row.dispatch === 'parked') return
  if (job.sequence) sequences.advance(id)
  else if (plan.job.runner) runners.jobQueued(plan.job.runner.id)
}
