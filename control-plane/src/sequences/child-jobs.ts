import type { AccountGrant, Grants } from '../auth/roles/grants.js'
import { launcherName } from '../auth/sessions/shown-name.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import type { JobValues, JobVault } from '../credentials/job/sealed-values.js'
import { HoldfastError } from '../errors.js'
import { failJob } from '../jobs/end/ending.js'
import { filesOfExtravars } from '../jobs/launch/launch-files.js'
import { NO_PLAYBOOK } from '../jobs/record/playbook.js'
import { type PreparedJob, prepareJob } from '../jobs/launch/prepare.js'
import { prepareSequence } from '../jobs/launch/prepare-sequence.js'
import { splitVariables } from '../jobs/secrets/secret-values.js'
import { insertJobSecret } from '../store/jobs/job-secrets.js'
import { insertJob } from '../store/jobs/new-job.js'
import type { Runner } from '../store/runners/runners.js'
import { insertSequence } from '../store/jobs/sequences.js'
import type { Queries, Store } from '../store/store.js'
import type { JobType } from '../words/job-type.js'
import { findJobFiles, linkJobFiles } from '../store/uploads/uploads.js'
import { descriptionOf } from '../uploads/description.js'
import type { UploadFolder } from '../uploads/upload-folder.js'
import type { ChildJob, Values } from './kind.js'
import type { ParentJob } from './parent-job.js'

/** What a child job needs of other parts. */
export interface ChildJobDependencies {
  readonly store: Store
  readonly credentials: Pick<Credentials, 'has'>
  readonly vault: JobVault
  readonly grants: Grants
  readonly uploads: Pick<UploadFolder, 'path'>
  /** Makes a random id of 32 hexadecimal digits. */
  readonly newRunId: () => string
}

/** The job of a step or workflow node, ready to be stored. */
export interface PreparedChildJob {
  readonly identifier: string
  readonly runner: Runner | null
  readonly problem: string | null
  readonly columns: PreparedJob['columns']
  /** What is stored apart from the job's row, encrypted; null: nothing. */
  readonly secret: JobValues | null
  /** Not null: the child job is a parent job itself. */
  readonly sequence: { readonly jobType: JobType; readonly plan: string; readonly nodes: readonly string[] } | null
  readonly artifacts?: Values | undefined
  /** Who gets notifications of its end, as JSON; null: nobody. */
  readonly notifications: string | null
  readonly files: readonly { readonly field: string; readonly uploadId: number }[]
}

/**
 * Prepares the job of a step or workflow node as a launch would, with the rights that the launcher of the parent job
 * has now. If something is not allowed, that is the job's `problem`: the job is created and fails at once with this
 * reason.
 */
export async function prepareChildJob(
  deps: ChildJobDependencies,
  { job, launch, secrets, problem: parentProblem }: Pick<ParentJob, 'job' | 'launch' | 'secrets' | 'problem'>,
  identifier: string,
  { settings, values, nested = null, notifications = null, artifacts }: ChildJob,
): Promise<PreparedChildJob> {
  const launcher = await deps.grants.of(job)
  const { credentials, credentialFields } = launch
  const inputs = { values, credentials, credentialFields, secrets }
  const jobType = job.job_type
  const common = { artifacts, notifications: notifications && JSON.stringify(notifications) }
  try {
    const nestedSequence = nested && (await prepareSequence(deps, launcher, settings, nested, inputs))
    const prepared = nestedSequence ?? (await prepareJob(deps, launcher, { settings, ...inputs }))
    const sequence = nestedSequence && { jobType, ...nestedSequence.sequence }
    const problem = accountProblem(launcherName(job), launcher) ?? parentProblem ?? prepared.problem
    const files = await filesOf(deps, job.id, prepared.extravars)
    return { ...prepared, ...common, identifier, problem, files, sequence }
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error
    const { shown } = splitVariables(values, secrets)
    const columns = {
      runner_id: null,
      runner_name: settings.runner,
      extravars: JSON.stringify(shown),
      credentials: '{}',
      playbook: JSON.stringify({ ...NO_PLAYBOOK, playbook: settings.playbook }),
    }
    const sequence = nested && { jobType, plan: JSON.stringify({ ...launch, plan: nested.plan }), nodes: nested.nodes }
    // Others read this message too, so it must not say "your".
    const problem = error.message.replace(/^Your roles/, `The roles of ${launcherName(job)}`)
    return { ...common, identifier, runner: null, problem, columns, secret: null, files: [], sequence }
  }
}

/** Stores the job of a step or workflow node. @returns its id */
export async function insertChildJob(
  queries: Queries,
  deps: Pick<ChildJobDependencies, 'newRunId' | 'vault'>,
  { job }: Pick<ParentJob, 'job'>,
  part: PreparedChildJob,
  now: number,
): Promise<number> {
  const runId = deps.newRunId()
  const id = await insertJob(queries, {
    ...part.columns,
    run_id: runId,
    form: job.form,
    target: part.identifier,
    job_type: part.sequence?.jobType ?? 'ansible',
    status: 'running',
    dispatch: part.sequence ? 'driven' : 'queued',
    start_time: now,
    user_id: job.user_id,
    user_name: job.user_name,
    user_type: job.user_type,
    parent_id: job.id,
    password_fields: job.password_fields,
    approved_manifest: job.approved_manifest,
    notifications: part.notifications,
  })
  if (part.secret) {
    const names = Object.keys(part.secret.variables)
    await insertJobSecret(queries, id, { sealed: deps.vault.seal(runId, part.secret), names })
  }
  await linkJobFiles(queries, id, part.files)
  if (part.sequence) await insertSequence(queries, id, part.sequence)
  if (part.problem !== null) await failJob(queries, id, part.problem, now)
  return id
}

/** The uploads of the parent job whose paths the child job gets. */
async function filesOf(
  { store, uploads }: ChildJobDependencies,
  jobId: number,
  extravars: Readonly<Record<string, unknown>>,
): Promise<PreparedChildJob['files']> {
  const files = (await findJobFiles(store.read, [jobId])).map((file) => ({
    field: file.field,
    uploadId: file.id,
    sha256: file.sha256,
    description: descriptionOf(file, uploads.path),
  }))
  return filesOfExtravars(files, extravars)
}

function accountProblem(name: string, { account }: AccountGrant): string | null {
  if (account === 'blocked') return `The account of ${name}, who launched this job, is blocked`
  return account === 'none' ? `The account of ${name}, who launched this job, was deleted` : null
}
