import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { Caller } from '../../auth/sessions/caller.js'
import type { JobValues } from '../../credentials/job/sealed-values.js'
import type { CredentialNeeds } from '../../credentials/job/needs.js'
import { RefusedValuesError } from '../../errors.js'
import type { JobSettings } from '../../forms/form.js'
import type { Runner } from '../../store/runners/runners.js'
import { credentialVariables, credentialsOfLaunch } from '../needs/credential-needs.js'
import type { JobFacts } from '../needs/job-facts.js'
import { playbookVariables } from './extravars.js'
import type { Playbook } from '../record/playbook.js'
import { MASK } from '../secrets/masking.js'
import { requireRunnerAllowed } from '../needs/runner-choice.js'
import { type SecretFinder, createSecretFinder } from '../../secrets/secret-finder.js'
import { type LaunchSecrets, maskSecrets, splitVariables } from '../secrets/secret-values.js'

/** The rights of the user who launches a job. They decide which runners and credentials the job may use. */
export type Launcher = Pick<Caller, 'isAdmin' | 'options' | 'allowedRunners' | 'allowedCredentials'>

/** What a job with one playbook is made of: a form or a step, and values. */
export interface JobInputs {
  readonly settings: JobSettings
  /** The extra variables, with the launching user among them. */
  readonly values: Readonly<Record<string, unknown>>
  /** Names of the fields whose values name credentials. */
  readonly credentialFields: readonly string[]
  /** Names of credentials by variable, as fields have them or the client sent them. */
  readonly credentials: Readonly<Record<string, unknown>>
  /** Which of the values must not be shown. */
  readonly secrets: LaunchSecrets
}

/** A job as it would be stored. */
export interface PlannedJob {
  readonly runner: Runner | null
  /** The name of the runner that was asked for, also when there is none. */
  readonly runnerName: string | null
  /** Why the job cannot run, if so. It then fails at once with this reason. */
  readonly problem: string | null
  /** The extra variables of fields and static properties, in clear. */
  readonly extravars: Readonly<Record<string, unknown>>
  /** The same extra variables with masks in place of passwords. */
  readonly shown: Readonly<Record<string, unknown>>
  /** The same, and the names of the credentials: what is stored with the job. */
  readonly variables: Readonly<Record<string, unknown>>
  /** What is stored apart from the job's row, encrypted; null: nothing. */
  readonly secret: JobValues | null
  /** Names of credentials by variable. */
  readonly credentials: Readonly<Record<string, string>>
  readonly playbook: Playbook
}

/**
 * Plans one job: its runner, its credentials, its variables and its playbook settings. It reads and writes nothing.
 * @throws ForbiddenError, RefusedValuesError
 */
export async function planJob(
  facts: JobFacts,
  launcher: Launcher,
  { settings, values, credentialFields, credentials: sent, secrets }: JobInputs,
): Promise<PlannedJob> {
  const choice = facts.runnerOf(settings)
  requireRunnerAllowed(choice, launcher)
  const { extravars, playbook } = playbookVariables(settings, values, launcher)
  await letOthersRun()
  const wanted = { source: { ...settings }, fields: credentialFields, extravars, sent }
  const chosen = credentialsOfLaunch(facts.hasCredential, launcher, wanted)
  const finder = createSecretFinder(secrets.values)
  requireOffCommandLine(values, finder)
  const { shown, secret } = splitVariables(extravars, secrets)
  // A name without a credential may be a password that somebody typed into the wrong field. Such a job fails at once.
  const needs = chosen.problem === null ? chosen.needs : masked(chosen.needs, finder)
  const { credentials, ansibleCredentials, vaultCredentials } = needs
  await letOthersRun()
  return {
    runner: choice.runner,
    runnerName: choice.runner?.name ?? settings.runner,
    problem: choice.problem ?? (chosen.problem === null ? null : finder.hide(chosen.problem, MASK)),
    extravars,
    shown,
    variables: { ...shown, ...credentialVariables(needs) },
    secret,
    credentials,
    playbook: { ...playbook, ansibleCredentials, vaultCredentials },
  }
}

/** Extra variables that become arguments of ansible-playbook. */
const ARGUMENTS = ['__inventory__', '__limit__', '__tags__', '__playbook__', '__playbookSubPath__']

/**
 * Refuses secrets in arguments, because every user of the runner's host can read a command line. @throws
 * RefusedValuesError
 */
function requireOffCommandLine(values: JobInputs['values'], finder: SecretFinder): void {
  const found = ARGUMENTS.find((name) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined
    return maskSecrets(value, finder, new Set(), false) !== value
  })
  if (found === undefined) return
  throw new RefusedValuesError(
    'values_refused',
    `${found} holds a password, but stands on a command line, which others can read`,
    { invalid: [found] },
  )
}

function masked(needs: CredentialNeeds, finder: SecretFinder): CredentialNeeds {
  return maskSecrets(needs, finder, new Set(), false) as CredentialNeeds
}
