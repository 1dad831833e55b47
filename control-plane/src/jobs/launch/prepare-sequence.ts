import type { Form } from '../../forms/form.js'
import { chooseCredentials } from '../../credentials/needs.js'
import { credentialNeedsOf, withLaunchNames } from '../needs/credential-needs.js'
import { requireVerboseAllowed } from './extravars.js'
import { NO_PLAYBOOK } from '../record/playbook.js'
import { type JobMakings, type Launcher, type PreparedJob, prepareJob } from './prepare.js'
import type { PlannedSequence } from '../record/sequence-port.js'
import { maskSecrets, splitVariables } from '../secrets/secret-values.js'
import { createSecretFinder } from '../secrets/secret-finder.js'

/** What is kept of a launch for the jobs that follow from it. */
export interface SequencePlan {
  /** Names of credentials that fields or the client chose, by variable. */
  readonly credentials: Readonly<Record<string, string>>
  readonly credentialFields: readonly string[]
  /** What its kind made of the form. */
  readonly plan: unknown
}

/**
 * The job that consists of others. Everything that these will ask for is checked now, with the values of the launch: what is
 * not allowed is refused before anything is created. What is missing (a runner, a credential) is the problem of the part
 * that needs it, when its turn comes.
 * @throws ForbiddenError, RefusedValuesError
 */
export async function prepareSequence(
  deps: Parameters<typeof prepareJob>[0],
  launcher: Launcher,
  form: Pick<Form, 'credentials' | 'ansibleCredentials' | 'vaultCredentials'>,
  planned: PlannedSequence,
  launch: Pick<JobMakings, 'values' | 'credentialFields' | 'credentials' | 'secrets'>,
): Promise<PreparedJob & { readonly sequence: { readonly plan: string; readonly nodes: readonly string[] } }> {
  const extravars = Object.fromEntries(Object.entries(launch.values).filter(([key]) => key !== '__proto__'))
  requireVerboseAllowed(extravars, launcher)
  for (const { settings, values } of planned.jobs) {
    await prepareJob(deps, launcher, { ...launch, settings, values: values(extravars) })
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
  const chosen = await chooseCredentials(needs, (name) => deps.credentials.has(name))
  const { shown, secret } = splitVariables(extravars, launch.secrets)
  // What is no credential was typed by somebody, perhaps into a password field.
  const finder = createSecretFinder(chosen.problem === null ? [] : launch.secrets.values)
  const named = maskSecrets(credentials, finder, new Set(), false) as typeof credentials
  const found = maskSecrets(chosen.needs.credentials, finder, new Set(), false) as typeof credentials
  const plan: SequencePlan = { credentials: named, credentialFields: launch.credentialFields, plan: planned.plan }
  return {
    runner: null,
    problem: planned.problem,
    extravars,
    shown,
    secret,
    columns: {
      runner_id: null,
      runner_name: null,
      extravars: JSON.stringify(shown),
      credentials: JSON.stringify({ ...found, ...named }),
      playbook: JSON.stringify(NO_PLAYBOOK),
    },
    sequence: { plan: JSON.stringify(plan), nodes: planned.nodes },
  }
}

/** What counts of the names that were sent. */
function namesFor(sent: JobMakings['credentials'], variables: ReadonlySet<string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(sent).filter(
      (entry): entry is [string, string] =>
        variables.has(entry[0]) && entry[0] !== '__proto__' && typeof entry[1] === 'string' && entry[1] !== '',
    ),
  )
}
