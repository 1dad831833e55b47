import type { Caller } from '../auth/caller.js'
import type { Credentials } from '../credentials/credentials.js'
import { ForbiddenError, RefusedValuesError } from '../errors.js'
import type { Form, Forms, AnsibleForm } from '../forms/form.js'
import { valuesToStore } from '../forms/stored-values.js'
import { mayUseForm } from '../forms/visibility.js'
import type { LiveEvents } from '../live/live-events.js'
import { insertJob } from '../store/jobs.js'
import { type Runner, findDefaultRunner, findRunnerByName } from '../store/runners.js'
import type { Queries, Store } from '../store/store.js'
import { linkJobFiles } from '../store/uploads.js'
import { problemOf as problemOfUpload } from '../uploads/verify.js'
import { askForApproval, awaitedApproval } from './approval.js'
import { credentialFieldsOf, credentialVariables, credentialsOfLaunch } from './credential-needs.js'
import { requireShallow } from './depth.js'
import { failJob } from './ending.js'
import { buildExtravars, requireVerboseAllowed } from './extravars.js'
import { filesOfExtravars } from './launch-files.js'
import {
  type LaunchValuesDependencies,
  type LaunchValuesRequest,
  refuseUploads,
  valuesOfLaunch,
} from './launch-values.js'
import { maskValues } from './masking.js'
import type { Playbook } from './playbook.js'
import type { RunnerPort } from './runner-port.js'

export interface LaunchRequest extends LaunchValuesRequest {
  readonly formName: string
}

export interface LaunchDependencies extends LaunchValuesDependencies {
  readonly store: Store
  readonly forms: Forms
  readonly live: LiveEvents
  readonly runners: RunnerPort
  readonly credentials: Pick<Credentials, 'has'>
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
  /** A random id of 32 hex digits. */
  readonly newRunId: () => string
}

/**
 * Creates a job and puts it on its way, or has it wait for the approval that its form asks for. A job whose runner is
 * missing or turned off is created and fails at once with the reason; it never goes to another runner.
 * @returns the id of the job
 * @throws NotFoundError, ForbiddenError, RefusedValuesError, TooManyError, UnavailableError; nothing is created then
 */
export async function launchJob(
  dependencies: LaunchDependencies,
  caller: Caller,
  request: LaunchRequest,
): Promise<number> {
  const { store, forms, live, clock, runners } = dependencies
  const { extravars: sent, rawFormData, credentials: names, files } = request
  requireShallow([sent, rawFormData, names, files])
  const { form, choice } = await requireMayLaunch(dependencies, caller, request)
  const surroundings = await forms.surroundingsOf(form)
  const settled = await valuesOfLaunch(dependencies, form, surroundings, caller, request)
  const { extravars, playbook } = buildExtravars(form, settled.values, caller)
  const chosen = await credentialsOfLaunch(dependencies.credentials, caller, {
    source: form.source,
    fields: credentialFieldsOf(form, surroundings.subforms),
    extravars,
    sent: settled.credentials,
  })
  const { credentials, ansibleCredentials, vaultCredentials } = chosen.needs
  const problem = choice.problem ?? chosen.problem
  const stored =
    rawFormData === null
      ? null
      : valuesToStore({ fields: form.fields, wizard: form.wizard, subforms: surroundings.subforms }, rawFormData)
  const jobFiles = filesOfExtravars(settled.files, extravars)
  const masked = maskValues(extravars, dependencies.maskPattern, new Set(form.passwordFields))
  // Nobody is asked to approve what cannot run.
  const approval = form.approval === null || problem !== null ? null : awaitedApproval(form.approval, masked)
  const now = clock.now()
  const id = await store.write('jobs.launch', async (queries) => {
    const jobId = await insertJob(queries, {
      run_id: dependencies.newRunId(),
      form: form.name,
      target: form.name,
      job_type: form.type,
      status: approval ? 'approve' : 'running',
      status_reason: null,
      detail: null,
      start_time: now,
      end_time: null,
      user_name: caller.username,
      user_type: caller.type,
      runner_id: choice.runner?.id ?? null,
      runner_name: choice.runner?.name ?? form.runner,
      dispatch: approval ? 'parked' : 'queued',
      wait_until: null,
      parent_id: null,
      step: null,
      approval: approval && JSON.stringify(approval),
      abort_requested: 0,
      abort_requested_by: null,
      abandoned_at: null,
      extravars: JSON.stringify({ ...extravars, ...credentialVariables(chosen.needs) }),
      credentials: JSON.stringify(credentials),
      raw_form_data: stored === null ? null : JSON.stringify(stored),
      password_fields: JSON.stringify(form.passwordFields),
      playbook: JSON.stringify({ ...playbook, ansibleCredentials, vaultCredentials } satisfies Playbook),
    })
    // Thrown in here all the same: it is as rare as it is, and no row of the job may stay.
    const gone = await linkJobFiles(queries, jobId, jobFiles)
    if (gone.length > 0) refuseUploads(gone.map((field) => problemOfUpload(field, 'unknown')))
    if (problem !== null) await failJob(queries, jobId, problem, now)
    if (approval) await askForApproval(queries, { id: jobId, target: form.name }, approval)
    return jobId
  })
  live.changed('jobs')
  if (choice.runner && problem === null && !approval) runners.jobQueued(choice.runner.id)
  return id
}

/**
 * What must be allowed to a launch whatever its field values are: the form, the verbose mode, the runner.
 * @throws NotFoundError, ForbiddenError, RefusedValuesError for a form that cannot be launched by anybody
 */
export async function requireMayLaunch(
  { store, forms }: Pick<LaunchDependencies, 'store' | 'forms'>,
  caller: Caller,
  request: Pick<LaunchRequest, 'formName' | 'extravars'>,
): Promise<{ readonly form: AnsibleForm; readonly choice: { runner: Runner | null; problem: string | null } }> {
  const form = await forms.find(request.formName)
  requireLaunchable(form, caller)
  requireVerboseAllowed(request.extravars, caller)
  const choice = await chooseRunner(store.read, form)
  requireRunnerAllowed(choice.runner, caller)
  return { form, choice }
}

function requireLaunchable(form: Form, caller: Caller): asserts form is AnsibleForm {
  if (!mayUseForm(caller, form)) {
    throw new ForbiddenError('form_not_allowed', `Your roles do not allow the form '${form.name}'`)
  }
  if (form.type === 'subform') {
    throw new RefusedValuesError(
      'form_not_launchable',
      `The form '${form.name}' is a part of other forms and cannot be launched`,
    )
  }
  if (form.type !== 'ansible') {
    throw new RefusedValuesError(
      'form_type_unsupported',
      `Forms of type '${form.type}' cannot be launched by this service yet`,
    )
  }
}

function requireRunnerAllowed(runner: Runner | null, caller: Caller): void {
  if (!runner || caller.isAdmin || !caller.allowedRunners || caller.allowedRunners.includes(runner.name)) return
  throw new ForbiddenError('runner_not_allowed', `Your roles do not allow jobs on the runner '${runner.name}'`)
}

async function chooseRunner(
  queries: Queries,
  form: AnsibleForm,
): Promise<{ runner: Runner | null; problem: string | null }> {
  const runner = form.runner === null ? await findDefaultRunner(queries) : await findRunnerByName(queries, form.runner)
  if (!runner) {
    const problem =
      form.runner === null
        ? 'There is no default RTE: approve a runner, or name one in the form'
        : `The RTE '${form.runner}' that the form names is not known`
    return { runner: null, problem }
  }
  return { runner, problem: problemOf(runner) }
}

/** Why a runner cannot get jobs at all, or null. Being offline, full or draining is no problem: the job waits. */
export function problemOf(runner: Pick<Runner, 'name' | 'state' | 'enabled'>): string | null {
  if (runner.state !== 'approved') return `The RTE '${runner.name}' is not approved`
  return runner.enabled ? null : `The RTE '${runner.name}' is turned off`
}
