import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { JobVault } from '../../credentials/job/sealed-values.js'
import { type StoredJobSecret, insertJobSecret } from '../../store/jobs/job-secrets.js'
import { type NewJob, insertJob, placeAdopted } from '../../store/jobs/new-job.js'
import { insertSequence } from '../../store/jobs/sequences.js'
import { noteAct } from '../../store/service/notification-events.js'
import type { Queries } from '../../store/store.js'
import { linkJobFiles } from '../../store/uploads/uploads.js'
import { failJob } from '../end/ending.js'
import type { PlannedJob } from './plan-job.js'
import type { SequencePlan } from './plan-sequence.js'

/** A job that is to be stored, whoever or whatever made it. */
export interface JobToStore {
  readonly row: NewJob
  /** The service starts it by itself (`JobVault.runIdOf`). So its run may be here already, adopted from its runner. */
  readonly mayBeAdopted?: boolean
  /** Its secret values; null: it has none. */
  readonly secret?: StoredJobSecret | null
  /** Its uploads, by file field. */
  readonly files?: readonly { readonly field: string; readonly uploadId: number }[]
  /** Not null: it is a parent job. */
  readonly sequence?: { readonly plan: SequencePlan; readonly nodes: readonly string[] } | null
  /** What a person did to make it, for notifications; null: nobody did anything. */
  readonly act?: 'launch' | 'relaunch' | null
  /** Why it cannot run. It then fails at once with this reason. */
  readonly problem?: string | null
}

/**
 * Stores a new job with all that belongs to it. Every new job comes this way: a launch, a relaunch, the start of a
 * schedule, a child job, and a job that was adopted from its runner.
 * @returns its id, the fields whose upload was removed meanwhile (a caller that needs them must undo the write), and
 *   whether it is a job that was there already
 */
export async function storeJob(
  queries: Queries,
  { row, mayBeAdopted = false, secret = null, files = [], sequence = null, act = null, problem = null }: JobToStore,
): Promise<{ readonly id: number; readonly goneFiles: readonly string[]; readonly isAdopted: boolean }> {
  const adopted = mayBeAdopted ? await placeAdopted(queries, row) : null
  if (adopted !== null) return { id: adopted, goneFiles: [], isAdopted: true }
  const id = await insertJob(queries, row)
  if (act) await noteAct(queries, id, act, row.start_time)
  if (secret) await insertJobSecret(queries, id, secret)
  const goneFiles = await linkJobFiles(queries, id, files)
  if (sequence) await insertSequence(queries, id, { plan: JSON.stringify(sequence.plan), nodes: sequence.nodes })
  if (problem !== null) await failJob(queries, id, problem, row.start_time)
  return { id, goneFiles, isAdopted: false }
}

/** The columns that a plan decides. */
export type PlannedColumns = Pick<NewJob, 'runner_id' | 'runner_name' | 'extravars' | 'credentials' | 'playbook'>

/** The columns of a planned job. Other requests get their turn before large variables become text. */
export async function columnsOf({
  runner,
  runnerName,
  variables,
  credentials,
  playbook,
}: PlannedJob): Promise<PlannedColumns> {
  await letOthersRun()
  return {
    runner_id: runner?.id ?? null,
    runner_name: runnerName,
    extravars: JSON.stringify(variables),
    credentials: JSON.stringify(credentials),
    playbook: JSON.stringify(playbook),
  }
}

/** The secret values of a planned job, encrypted and bound to its run; null: it has none. */
export function sealedSecret(
  vault: Pick<JobVault, 'seal'>,
  runId: string,
  { secret }: Pick<PlannedJob, 'secret'>,
): StoredJobSecret | null {
  return secret && { sealed: vault.seal(runId, secret), names: Object.keys(secret.variables) }
}
