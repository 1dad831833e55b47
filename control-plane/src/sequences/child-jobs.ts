import type { AccountGrant, Grants } from '../auth/roles/grants.js'
import { launcherName } from '../auth/sessions/shown-name.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import type { JobValues, JobVault } from '../credentials/job/sealed-values.js'
import { HoldfastError } from '../errors.js'
import { filesOfExtravars } from '../jobs/launch/launch-files.js'
import { NO_PLAYBOOK } from '../jobs/record/playbook.js'
import { planJob } from '../jobs/launch/plan-job.js'
import { type SequencePlan, planSequence } from '../jobs/launch/plan-sequence.js'
import { type PlannedColumns, columnsOf, sealedSecret, storeJob } from '../jobs/launch/store-job.js'
import { type JobFacts, readCredentials, readRunners } from '../jobs/needs/job-facts.js'
import { splitVariables } from '../jobs/secrets/secret-values.js'
import type { Runner } from '../store/runners/runners.js'
import type { Queries, Store } from '../store/store.js'
import type { JobType } from '../words/job-type.js'
import { findJobFiles } from '../store/uploads/uploads.js'
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
}

/** The job of a step or workflow node, ready to be stored. */
export interface PreparedChildJob {
  readonly identifier: string
  readonly runner: Runner | null
  readonly problem: string | null
  readonly columns: PlannedColumns
  /** What is stored apart from the job's row, encrypted; null: nothing. */
  readonly secret: JobValues | null
  /** Not null: the child job is a parent job itself. */
  readonly sequence: {
    readonly jobType: JobType
    readonly plan: SequencePlan
    readonly nodes: readonly string[]
  } | null
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
    const facts = await factsOf(deps, { settings, nested, ...inputs })
    const parent = nested && (await planSequence(facts, launcher, settings, nested, inputs))
    const planned = parent ?? (await planJob(facts, launcher, { settings, ...inputs }))
    const { runner, secret, extravars } = planned
    const sequence = parent && { jobType, ...parent.sequence }
    const problem = accountProblem(launcherName(job), launcher) ?? parentProblem ?? planned.problem
    const files = await filesOf(deps, job.id, extravars)
    return { ...common, identifier, runner, secret, problem, files, sequence, columns: await columnsOf(planned) }
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
    const sequence = nested && { jobType, plan: { ...launch, plan: nested.plan }, nodes: nested.nodes }
    // Others read this message too, so it must not say "your".
    const problem = error.message.replace(/^Your roles/, `The roles of ${launcherName(job)}`)
    return { ...common, identifier, runner: null, problem, columns, secret: null, files: [], sequence }
  }
}

/** Stores the job of a step or workflow node. @returns its id */
export async function insertChildJob(
  queries: Queries,
  deps: Pick<ChildJobDependencies, 'vault'>,
  { job }: Pick<ParentJob, 'job'>,
  part: PreparedChildJob,
  now: number,
): Promise<number> {
  const runId = deps.vault.runIdOf(`child job ${job.run_id} ${part.identifier}`)
  const { columns, secret, files, sequence, problem } = part
  const { id } = await storeJob(queries, {
    row: {
      ...columns,
      run_id: runId,
      form: job.form,
      target: part.identifier,
      job_type: sequence?.jobType ?? 'ansible',
      status: 'running',
      dispatch: sequence ? 'driven' : 'queued',
      start_time: now,
      user_id: job.user_id,
      user_name: job.user_name,
      user_type: job.user_type,
      parent_id: job.id,
      password_fields: job.password_fields,
      approved_manifest: job.approved_manifest,
      notifications: part.notifications,
    },
    mayBeAdopted: true,
    secret: sealedSecret(deps.vault, runId, { secret }),
    files,
    sequence,
    problem,
  })
  return id
}

/** What the plan of a child job takes from the database. */
async function factsOf(
  { store, credentials }: ChildJobDependencies,
  job: Pick<ChildJob, 'settings' | 'values' | 'nested'> & {
    readonly credentials: SequencePlan['credentials']
    readonly credentialFields: readonly string[]
  },
): Promise<JobFacts> {
  const children = job.nested?.jobs ?? []
  const settings = [job.settings, ...children.map((child) => child.settings)]
  return {
    runnerOf: await readRunners(store.read, settings),
    hasCredential: await readCredentials(credentials, {
      settings,
      values: [job.values, ...children.map((child) => child.values(job.values))],
      sent: [job.credentials],
      fields: job.credentialFields,
    }),
  }
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
