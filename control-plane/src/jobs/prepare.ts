import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { Insertable } from 'kysely'
import type { Caller } from '../auth/caller.js'
import type { Credentials } from '../credentials/credentials.js'
import type { JobSettings } from '../forms/form.js'
import type { Runner } from '../store/runners.js'
import type { JobTable } from '../store/schema.js'
import type { Store } from '../store/store.js'
import { credentialVariables, credentialsOfLaunch } from './credential-needs.js'
import { playbookVariables } from './extravars.js'
import type { Playbook } from './playbook.js'
import { chooseRunner, requireRunnerAllowed } from './runner-choice.js'

/** Whoever a job is launched for, as far as it decides about what the job may use. */
export type Launcher = Pick<Caller, 'isAdmin' | 'options' | 'allowedRunners' | 'allowedCredentials'>

/** What a job that runs one playbook is made of: a form or a step, and values. */
export interface JobMakings {
  readonly settings: JobSettings
  /** The launching user is among them. */
  readonly values: Readonly<Record<string, unknown>>
  /** Names of the fields whose values name credentials. */
  readonly credentialFields: readonly string[]
  /** Names of credentials by variable, as fields have them or the client sent them. */
  readonly credentials: Readonly<Record<string, unknown>>
}

/** A job that can be stored. */
export interface PreparedJob {
  readonly runner: Runner | null
  /** Why it cannot run, if so: it is to fail at once with this reason. */
  readonly problem: string | null
  /** As fields and statics give them; the row also has the names of the credentials. */
  readonly extravars: Readonly<Record<string, unknown>>
  readonly columns: Pick<Insertable<JobTable>, 'runner_id' | 'runner_name' | 'extravars' | 'credentials' | 'playbook'>
}

/**
 * Chooses the runner, the credentials and the playbook settings of a job.
 * @throws ForbiddenError, RefusedValuesError
 */
export async function prepareJob(
  deps: { readonly store: Pick<Store, 'read'>; readonly credentials: Pick<Credentials, 'has'> },
  launcher: Launcher,
  { settings, values, credentialFields, credentials: sent }: JobMakings,
): Promise<PreparedJob> {
  const choice = await chooseRunner(deps.store.read, settings)
  requireRunnerAllowed(choice, launcher)
  const { extravars, playbook } = playbookVariables(settings, values, launcher)
  await letOthersRun()
  const wanted = { source: { ...settings }, fields: credentialFields, extravars, sent }
  const chosen = await credentialsOfLaunch(deps.credentials, launcher, wanted)
  const { credentials, ansibleCredentials, vaultCredentials } = chosen.needs
  await letOthersRun()
  return {
    runner: choice.runner,
    problem: choice.problem ?? chosen.problem,
    extravars,
    columns: {
      runner_id: choice.runner?.id ?? null,
      runner_name: choice.runner?.name ?? settings.runner,
      extravars: JSON.stringify({ ...extravars, ...credentialVariables(chosen.needs) }),
      credentials: JSON.stringify(credentials),
      playbook: JSON.stringify({ ...playbook, ansibleCredentials, vaultCredentials } satisfies Playbook),
    },
  }
}
