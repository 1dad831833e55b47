import * as v from 'valibot'
import { ownerOfRun } from '../../store/service/sealed-columns.js'
import type { SecretBox } from '../encryption/secret-box.js'

/** The secret values of a launch: the passwords that were typed into its form, and the variables that contain them. */
const jobValuesSchema = v.object({
  /** Extra variables that contain a password, each with its complete value. */
  variables: v.record(v.string(), v.unknown()),
  /** The passwords. */
  hidden: v.array(v.string()),
})

/** The secret values of one job, in clear. */
export type JobValues = Readonly<v.InferOutput<typeof jobValuesSchema>>

/**
 * Stores the secret values of jobs in the database, encrypted with ENCRYPTION_SECRET and bound to the run of the job.
 */
export type JobVault = ReturnType<typeof createJobVault>

/** Makes the {@link JobVault} of this control plane. */
export function createJobVault(box: SecretBox) {
  return {
    seal: (runId: string, { variables, hidden }: JobValues) =>
      box.seal(JSON.stringify({ variables, hidden }), ownerOfRun(runId)),
    /** @throws SecretBoxError when it was encrypted with another ENCRYPTION_SECRET, or for another run */
    open: (runId: string, sealed: Buffer) => v.parse(jobValuesSchema, JSON.parse(box.open(sealed, ownerOfRun(runId)))),
  }
}
