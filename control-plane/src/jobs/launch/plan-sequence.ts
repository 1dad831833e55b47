import type { Form } from '../../forms/form.js'
import { chooseCredentials } from '../../credentials/job/needs.js'
import { credentialNeedsOf, withLaunchNames } from '../needs/credential-needs.js'
import type { JobFacts } from '../needs/job-facts.js'
import { requireVerboseAllowed } from './extravars.js'
import { NO_PLAYBOOK } from '../record/playbook.js'
import { type JobInputs, type Launcher, type PlannedJob, planJob } from './plan-job.js'
import type { PlannedSequence } from '../record/sequence-port.js'
import { maskSecrets, splitVariables } from '../secrets/secret-values.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'

/** What is stored of a launch for its child jobs. */
export interface SequencePlan {
  /** Names of credentials that fields or the client chose, by variable. */
  readonly credentials: Readonly<Record<string, string>>
  readonly credentialFields: readonly string[]
  /** The plan, made of the form by its kind (multistep or workflow). */
  readonly plan: unknown
}

/** A parent job as it would be stored. */
export interface PlannedParentJob extends PlannedJob {
  readonly sequence: { readonly plan: SequencePlan; readonly nodes: readonly string[] }
  /** Its child jobs, as far as a launch can know them. */
  readonly jobs: readonly PlannedJob[]
}

/**
 * Plans a parent job. Everything that its child jobs may ask for is checked now, with the values of the launch. If
 * something is not allowed, the launch is refused before anything is created. If a runner or a credential is missing,
 * the child job that needs it fails when it starts.
 * @throws ForbiddenError, RefusedValuesError
 */
export async function planSequence(
  facts: JobFacts,
  launcher: Launcher,
  form: Pick<Form, 'credentials' | 'ansibleCredentials' | 'vaultCredentials'>,
  planned: PlannedSequence,
  launch: Pick<JobInputs, 'values' | 'credentialFields' | 'credentials' | 'secrets'>,
): Promise<PlannedParentJob> {
  const extravars = Object.fromEntries(Object.entries(launch.values).filter(([key]) => key !== '__proto__'))
  requireVerboseAllowed(extravars, launcher)
  const jobs: PlannedJob[] = []
  for (const { settings, values } of planned.jobs) {
    jobs.push(await planJob(facts, launcher, { ...launch, settings, values: values(extravars) }))
  }
  const variables = [form, ...planned.jobs.map(({ settings }) => settings)].flatMap((one) =>
    Object.keys(one.credentials),
  )
  const credentials = namesFor(launch.credentials, new Set([...variables, ...launch.credentialFields]))
  const needs = withLaunchNames(
    credentialNeedsOf({ credentials: form.credentials }),
    {},
    credentials,
    launch.credentialFields,
  )
  const chosen = chooseCredentials(needs, facts.hasCredential)
  const { shown, secret } = splitVariables(extravars, launch.secrets)
  // A name without a credential may be a password that somebody typed into the wrong field.
  const finder = createSecretFinder(chosen.problem === null ? [] : launch.secrets.values)
  const named = maskSecrets(credentials, finder, new Set(), false) as typeof credentials
  const found = maskSecrets(chosen.needs.credentials, finder, new Set(), false) as typeof credentials
  return {
    runner: null,
    runnerName: null,
    problem: planned.problem,
    extravars,
    shown,
    variables: shown,
    secret,
    credentials: { ...found, ...named },
    playbook: NO_PLAYBOOK,
    sequence: {
      plan: { credentials: named, credentialFields: launch.credentialFields, plan: planned.plan },
      nodes: planned.nodes,
    },
    jobs,
  }
}

/** The credential names of the launch that count here. */
function namesFor(sent: JobInputs['credentials'], variables: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sent).filter(
      (entry): entry is [string, string] =>
        variables.has(entry[0]) && entry[0] !== '__proto__' && typeof entry[1] === 'string' && entry[1] !== '',
    ),
  )
}
