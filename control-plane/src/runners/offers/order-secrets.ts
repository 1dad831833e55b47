import { type SealJobSecrets, SecretsProblem } from '../../credentials/job/sealing.js'
import { failJob, needsOfJob } from '../../jobs/job-port.js'
import type { OfferableJob } from '../../store/jobs/dispatch.js'
import { findJobSecrets } from '../../store/jobs/job-secrets.js'
import type { JobChanges } from '../held/job-changes.js'
import type { RunnerConnection } from '../socket/connection.js'

/** The secrets of a job for its order. */
export interface OrderSecrets {
  /** Sealed to the runner's key; null when the job needs none. */
  readonly sealed: string | null
  /** Names of the extra variables that are sealed. The order leaves them out. */
  readonly names: readonly string[]
}

/**
 * Yields the jobs that were taken out of the queue, each with its secrets sealed to the runner. A job whose secrets
 * cannot be opened fails with that reason and is left out.
 * @throws the error of the store when the store itself fails; the caller then has to put the other jobs back
 */
export async function* withSecrets(
  dependencies: JobChanges & { readonly sealSecrets: SealJobSecrets },
  connection: RunnerConnection,
  jobs: readonly OfferableJob[],
): AsyncGenerator<readonly [OfferableJob, OrderSecrets]> {
  const { store, clock, live, sealSecrets, ends } = dependencies
  const { fingerprint, sealingKey } = connection
  for (const job of jobs) {
    let secrets: OrderSecrets
    try {
      const kept = (await findJobSecrets(store.read, [job.id])).get(job.id)
      const target = { jobId: job.id, runId: job.run_id, fingerprint, sealingKey }
      const sealed = await sealSecrets(needsOfJob(job), target, kept?.sealed ?? null)
      secrets = { sealed, names: kept?.names ?? [] }
    } catch (error) {
      if (!(error instanceof SecretsProblem)) throw error
      await store.write('runners.no_secrets', (queries) => failJob(queries, job.id, error.message, clock.now()))
      live.changed('jobs')
      ends?.jobEnded()
      continue
    }
    yield [job, secrets]
  }
}
