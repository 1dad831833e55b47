import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { Caller } from '../../auth/sessions/caller.js'
import type { Credentials } from '../../credentials/stored/credentials.js'
import type { JobVault } from '../../credentials/job/sealed-values.js'
import { ForbiddenError, RefusedValuesError } from '../../errors.js'
import type { AnsibleForm, Form, FormContext, Forms, MultistepForm, WorkflowForm } from '../../forms/form.js'
import { valuesToStore } from '../../forms/sent/stored-values.js'
import { inShapeOf, withoutDrafts } from '../../forms/sent/wizard-drafts.js'
import { mayUseForm } from '../../forms/visibility.js'
import type { LiveEvents } from '../../live/live-events.js'
import { insertJobSecret } from '../../store/jobs/job-secrets.js'
import { insertJob } from '../../store/jobs/new-job.js'
import { insertSequence } from '../../store/jobs/sequences.js'
import { noteAct } from '../../store/service/notification-events.js'
import type { Queries, Store } from '../../store/store.js'
import { linkJobFiles } from '../../store/uploads/uploads.js'
import { uploadProblem as problemOfUpload } from '../../uploads/verify.js'
import { askForApproval, awaitedApproval } from '../record/approval.js'
import type { ApprovalSubjects } from '../record/approval-subject.js'
import { credentialFieldsOf, requireKnownNames } from '../needs/credential-needs.js'
import { requireShallow } from '../record/depth.js'
import { failJob } from '../end/ending.js'
import { requireVerboseAllowed, userVariable } from './extravars.js'
import { filesOfExtravars } from './launch-files.js'
import {
  type LaunchValues,
  type LaunchValuesDependencies,
  type LaunchValuesRequest,
  refuseUploads,
  stricter,
  valuesOfLaunch,
} from './launch-values.js'
import { secretsOfLaunch } from './launch-passwords.js'
import { maskValues } from '../secrets/masking.js'
import { announceAdmitted } from '../limits/job-limits.js'
import { admitNew, requirePlace } from '../limits/places.js'
import { type PreparedJob, prepareJob } from './prepare.js'
import { prepareSequence } from './prepare-sequence.js'
import { chooseRunner, requireRunnerAllowed } from '../needs/runner-choice.js'
import type { RunnerPort } from '../record/runner-port.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'
import { type LaunchSecrets, maskSecrets } from '../secrets/secret-values.js'
import type { PlannedSequence, SequencePort } from '../record/sequence-port.js'

/** A launch as it is asked for. */
export interface LaunchRequest extends LaunchValuesRequest {
  readonly formName: string
}

/** Who or what starts a launch instead of a person, such as a schedule. */
export interface LaunchOrigin {
  readonly schedule: { readonly id: number; readonly name: string }
  /** Runs in the transaction that stores the job. If it throws, the job is not stored. */
  stored(queries: Queries, jobId: number): Promise<void>
}

/** A job that was just created. */
export interface LaunchedJob {
  readonly id: number
  readonly unknownFields: readonly string[]
}

/** What a launch needs of other parts. */
export interface LaunchDependencies extends LaunchValuesDependencies {
  readonly store: Store
  readonly forms: Forms
  readonly live: LiveEvents
  readonly runners: RunnerPort
  readonly sequences: SequencePort
  readonly credentials: Pick<Credentials, 'has'>
  readonly vault: Pick<JobVault, 'seal'>
  readonly subjects: Pick<ApprovalSubjects, 'of'>
  /** Makes a random id of 32 hexadecimal digits. */
  readonly newRunId: () => string
}

/**
 * Creates a job and queues it, or lets it wait for the approval that its form asks for. If its runner is missing or
 * turned off, the job is created and fails at once with the reason. A job never goes to another runner instead.
 * @returns the id of the job, and the names of sent values that belong to no field, if that is no reason to refuse the
 *   launch
 * @throws NotFoundError, ForbiddenError, RefusedValuesError, TooManyError, UnavailableError, ConflictError for a group
 *   that is full; nothing is created then
 */
export async function launchJob(
  dependencies: LaunchDependencies,
  caller: Caller,
  asked: LaunchRequest,
  origin: LaunchOrigin | null = null,
): Promise<LaunchedJob> {
  const { store, forms, live, clock, runners, sequences } = dependencies
  requireShallow([asked.extravars, asked.rawFormData, asked.credentials, asked.files])
  // Each of these steps may go through megabytes of values. Other requests get their turn in between.
  await letOthersRun()
  const launchable = await requireMayLaunch(dependencies, caller, asked)
  const { form } = launchable
  const context = await forms.contextOf(form)
  const { subforms } = context
  const request = inOwnShape(form, subforms, asked)
  const { rawFormData, credentials: names } = request
  const launchValues = await valuesOfLaunch(dependencies, form, context, caller, request)
  if (stricter(dependencies.validation, form.launchValidation) === 'enforce' && !request.earlier) {
    await requireKnownNames(dependencies.credentials, caller, declaredOf(launchable, subforms), names)
  }
  const values = { extravars: launchValues.values, rawFormData, checked: launchValues.passwords }
  const secrets = secretsOfLaunch({ form, subforms, ...values })
  await letOthersRun()
  const prepared = await prepare(dependencies, caller, launchable, context, launchValues, secrets)
  const { runner, problem, extravars, secret, columns, sequence } = prepared
  await letOthersRun()
  const stored =
    asked.rawFormData === null ? null : await fieldValuesToStore(form, subforms, asked.rawFormData, secrets)
  const jobFiles = filesOfExtravars(launchValues.files, extravars)
  const approval = await approvalOfLaunch(dependencies, launchable, context, prepared)
  const now = clock.now()
  const runId = dependencies.newRunId()
  const sealed = secret && { sealed: dependencies.vault.seal(runId, secret), names: Object.keys(secret.variables) }
  const concurrency = problem === null ? form.concurrency : null
  const { id, admitted } = await store.write('jobs.launch', async (queries) => {
    if (concurrency) await requirePlace(queries, concurrency)
    const jobId = await insertJob(queries, {
      ...columns,
      run_id: runId,
      form: form.name,
      job_type: form.type,
      status: approval ? 'approve' : 'running',
      dispatch: approval || concurrency ? 'parked' : sequence ? 'driven' : 'queued',
      start_time: now,
      user_id: caller.id,
      user_name: caller.username,
      user_type: caller.type,
      approval: approval && JSON.stringify(approval),
      raw_form_data: stored === null ? null : JSON.stringify(stored),
      password_fields: JSON.stringify(form.passwordFields),
      schedule_id: origin?.schedule.id ?? null,
      schedule_name: origin?.schedule.name ?? null,
      time_limit_ms: form.timeoutMs,
      concurrency_group: concurrency?.group ?? null,
      concurrency_limit: concurrency?.limit ?? null,
      notifications: form.notifications && JSON.stringify(form.notifications),
    })
    await noteAct(queries, jobId, request.earlier ? 'relaunch' : 'launch', now)
    await origin?.stored(queries, jobId)
    if (sealed) await insertJobSecret(queries, jobId, sealed)
    // The files were checked before, but one may be gone now. The error also undoes the insert of the job.
    const gone = await linkJobFiles(queries, jobId, jobFiles)
    if (gone.length > 0) refuseUploads(gone.map((field) => problemOfUpload(field, 'unknown')))
    if (sequence) await insertSequence(queries, jobId, sequence)
    if (problem !== null) await failJob(queries, jobId, problem, now)
    if (approval) await askForApproval(queries, { id: jobId, target: form.name }, approval, now)
    const group = concurrency && !approval ? { name: concurrency.group, limit: concurrency.limit } : null
    return { id: jobId, admitted: await admitNew(queries, jobId, group, now) }
  })
  live.changed('jobs')
  const launched = { id, unknownFields: launchValues.unknown.map(({ name }) => name) }
  announceAdmitted({ runners, sequences }, admitted)
  if (problem !== null || approval || concurrency) return launched
  if (sequence) sequences.advance(id)
  else if (runner) runners.jobQueued(runner.id)
  return launched
}

/** The approval that a new job waits for; null: it needs none. */
async function approvalOfLaunch(
  { subjects, maskPattern }: LaunchDependencies,
  { form, planned }: Launchable,
  context: FormContext,
  { problem, shown, columns }: PreparedJob,
) {
  // A job that cannot run asks nobody for an approval.
  if (form.approval === null || problem !== null) return null
  const masked = maskValues(shown, maskPattern, new Set(form.passwordFields))
  const job = { form: form.name, playbook: columns.playbook, parent_id: null, job_type: form.type }
  const subject = await subjects.of(job, form, context, planned)
  return awaitedApproval(form.approval, masked, subject)
}

/**
 * A launch in the shape of this service. Pages of the product family send the values of a wizard as drafts. For a field
 * that names a credential they send any value of the field. A value that is not a name is left out, because the field
 * itself decides.
 */
function inOwnShape(form: Form, subforms: FormContext['subforms'], request: LaunchRequest): LaunchRequest {
  const { rawFormData, credentials } = request
  const ofFields = new Set(credentialFieldsOf(form, subforms))
  const names = Object.entries(credentials).filter(([key, name]) => !ofFields.has(key) || typeof name === 'string')
  return {
    ...request,
    rawFormData: rawFormData && withoutDrafts(form, rawFormData, 'without skipped'),
    credentials: Object.fromEntries(names),
  }
}

/**
 * The field values as they are stored: in the shape in which they came, without passwords, and with a mask in place of
 * each value that contains a password.
 */
async function fieldValuesToStore(
  form: Form,
  subforms: FormContext['subforms'],
  rawFormData: Readonly<Record<string, unknown>>,
  secrets: LaunchSecrets,
): Promise<unknown> {
  const values = valuesToStore({ ...form, subforms }, withoutDrafts(form, rawFormData, 'with skipped'))
  const kept = inShapeOf(form, rawFormData, values)
  // There are no passwords to look for, and a walk through the largest values takes tens of milliseconds.
  if (secrets.values.length === 0) return kept
  await letOthersRun()
  return maskSecrets(kept, createSecretFinder(secrets.values), new Set(), false)
}

/** Something that can be launched: a form that runs one playbook, or a form with the plan of its child jobs. */
type Launchable =
  | { readonly form: AnsibleForm; readonly planned: null }
  | { readonly form: MultistepForm | WorkflowForm; readonly planned: PlannedSequence }

/** The variables for which a launch may name a credential. */
function declaredOf({ form, planned }: Launchable, subforms: FormContext['subforms']): Set<string> {
  const parts = [form, ...(planned?.jobs.map(({ settings }) => settings) ?? [])]
  return new Set([...parts.flatMap((part) => Object.keys(part.credentials)), ...credentialFieldsOf(form, subforms)])
}

async function prepare(
  dependencies: LaunchDependencies,
  caller: Caller,
  { form, planned }: Launchable,
  { subforms }: FormContext,
  launchValues: LaunchValues,
  secrets: LaunchSecrets,
): Promise<PreparedJob & { readonly sequence: { readonly plan: string; readonly nodes: readonly string[] } | null }> {
  const common = {
    values: { ...launchValues.values, ansibleforms_user: userVariable(caller, form.userExtravars) },
    credentialFields: credentialFieldsOf(form, subforms),
    credentials: launchValues.credentials,
    secrets,
  }
  if (planned) return prepareSequence(dependencies, caller, form, planned, common)
  return { ...(await prepareJob(dependencies, caller, { settings: form, ...common })), sequence: null }
}

/**
 * Checks the parts of a launch that do not depend on its field values: the form, the verbose mode, the runners.
 * @throws NotFoundError, ForbiddenError, RefusedValuesError for a form that nobody can launch
 */
export async function requireMayLaunch(
  { store, forms, sequences }: Pick<LaunchDependencies, 'store' | 'forms' | 'sequences'>,
  caller: Caller,
  request: Pick<LaunchRequest, 'formName' | 'extravars'>,
): Promise<Launchable> {
  const form = await forms.find(request.formName)
  requireForm(form, caller)
  const launchable = await launchableOf(form, sequences)
  requireVerboseAllowed(request.extravars, caller)
  const settings = launchable.planned?.jobs.map((job) => job.settings) ?? [launchable.form]
  for (const one of settings) requireRunnerAllowed(await chooseRunner(store.read, one), caller)
  return launchable
}

/**
 * Whether the caller may launch a form.
 * @throws ForbiddenError, RefusedValuesError for a form that is only a part of other forms
 */
export function requireForm(form: Form, caller: Caller): void {
  if (!mayUseForm(caller, form)) {
    throw new ForbiddenError('form_not_allowed', `Your roles do not allow the form '${form.name}'`)
  }
  if (form.type === 'subform') {
    throw new RefusedValuesError(
      'form_not_launchable',
      `The form '${form.name}' is a part of other forms and cannot be launched`,
    )
  }
}

async function launchableOf(form: Form, sequences: SequencePort): Promise<Launchable> {
  if (form.type === 'ansible') return { form, planned: null }
  if (form.type === 'multistep' || form.type === 'workflow') {
    const planned = await sequences.planOf(form)
    if (planned) return { form, planned }
  }
  throw new RefusedValuesError(
    'form_type_unsupported',
    `Forms of type '${form.type}' cannot be launched by this service yet`,
  )
}
