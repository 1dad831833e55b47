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

/** As many digits as a random run id has. */
const RUN_ID_DIGITS = 32

/** The secret values of one job, in clear. */
export type JobValues = Readonly<v.InferOutput<typeof jobValuesSchema>>

/**
 * Stores the secret values of jobs in the database, encrypted with ENCRYPTION_SECRET and bound to the run of the job.
 */
export type JobVault = ReturnType<typeof createJobVault>

/** Makes the {@link JobVault} of this control plane. */
export function createJobVault(box: SecretBox) {
  return {
    /**
     * The run id of a job that the service starts by itself. The same start always has the same run id. So when a database
     * has lost its last commits and the start is repeated, the runner knows the run, and does not run it twice.
     * @param start says which start of what it is
     */
    runIdOf: (start: string): string => box.nameOf(start).slice(0, RUN_ID_DIGITS),
    seal: (runId: string, { variables, hidden }: JobValues) =>
      box.seal(JSON.stringify({ variables, hidden }), ownerOfRun(runId)),
    /** @throws SecretBoxError when it was encrypted with another ENCRYPTION_SECRET, or for another run */
    open: (runId: string, sealed: Buffer) => v.parse(jobValuesSchema, JSON.parse(box.open(sealed, ownerOfRun(runId)))),
  }
}
