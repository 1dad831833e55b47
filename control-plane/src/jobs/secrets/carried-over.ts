import * as v from 'valibot'
import type { JobVault } from '../../credentials/job/sealed-values.js'
import { type OpenJob, findOpenJobs, insertJobSecret, replaceJobTexts } from '../../store/jobs/job-secrets.js'
import type { Queries, Store } from '../../store/store.js'
import { holdsMask } from './masking.js'
import { passwordFieldsOf } from '../record/password-fields.js'
import { objectSchema } from '../record/playbook.js'
import { type LaunchSecrets, maskSecrets, splitVariables } from './secret-values.js'
import { createSecretFinder } from '../../secrets/secret-finder.js'

/**
 * Moves the passwords out of the rows of jobs that an older release launched and that have not ended. They are then
 * stored like the passwords of new jobs. Does nothing when that was done before.
 * @returns the number of these jobs
 */
export async function sealOpenJobs(store: Store, vault: Pick<JobVault, 'seal'>): Promise<number> {
  if ((await findOpenJobs(store.read)).length === 0) return 0
  return store.write('jobs.seal_open', async (queries) => {
    let count = 0
    for (const job of await findOpenJobs(queries)) if (await sealJob(queries, vault, job)) count += 1
    return count
  })
}

async function sealJob(queries: Queries, vault: Pick<JobVault, 'seal'>, job: OpenJob): Promise<boolean> {
  const extravars = v.parse(objectSchema, JSON.parse(job.extravars))
  const keys = new Set(passwordFieldsOf(job))
  const { ansibleforms_user: _, ...others } = extravars
  const values = new Set<string>()
  gather(others, keys, false, values)
  const secrets: LaunchSecrets = { values: [...values], keys }
  const { shown, secret } = splitVariables(extravars, secrets)
  if (secret === null || holdsMask(extravars)) return false
  const finder = createSecretFinder(secrets.values)
  const masked = (text: string | null) =>
    text === null ? null : JSON.stringify(maskSecrets(JSON.parse(text), finder, new Set(), false))
  await insertJobSecret(queries, job.id, {
    sealed: vault.seal(job.run_id, secret),
    names: Object.keys(secret.variables),
  })
  await replaceJobTexts(queries, job.id, {
    extravars: JSON.stringify(shown),
    rawFormData: masked(job.raw_form_data),
    approval: masked(job.approval),
  })
  return true
}

/** Collects the values under the keys of password fields. */
function gather(value: unknown, keys: ReadonlySet<string>, isSecret: boolean, into: Set<string>): void {
  if (isSecret && (typeof value === 'number' || (typeof value === 'string' && value !== ''))) into.add(String(value))
  if (typeof value !== 'object' || value === null) return
  for (const [key, entry] of Object.entries(value)) {
    gather(entry, keys, isSecret || (!Array.isArray(value) && keys.has(key)), into)
  }
}
