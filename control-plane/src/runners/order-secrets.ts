import type { Clock } from '../clock.js'
import { type SealJobSecrets, SecretsProblem } from '../credentials/job-secrets.js'
import { needsOfJob } from '../jobs/credential-needs.js'
import { failJob } from '../jobs/ending.js'
import type { LiveEvents } from '../live/live-events.js'
import type { OfferableJob } from '../store/dispatch.js'
import type { Store } from '../store/store.js'
import type { RunnerConnection } from './connection.js'

export interface OrderSecretsDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  readonly sealSecrets: SealJobSecrets
}

/**
 * The secrets of a job that is about to be offered, sealed to its runner: null when it needs none; undefined when they
 * cannot be had, and then the job has failed with that reason.
 */
export async function sealOrFail(
  { store, clock, live, sealSecrets }: OrderSecretsDependencies,
  { fingerprint, sealingKey }: RunnerConnection,
  job: OfferableJob,
): Promise<string | null | undefined> {
  try {
    return await sealSecrets(needsOfJob(job), { jobId: job.id, runId: job.run_id, fingerprint, sealingKey })
  } catch (error) {
    if (!(error instanceof SecretsProblem)) throw error
    await store.write('runners.no_secrets', (queries) => failJob(queries, job.id, error.message, clock.now()))
    live.changed('jobs')
    return undefined
  }
}
