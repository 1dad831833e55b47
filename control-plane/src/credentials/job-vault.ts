import * as v from 'valibot'
import type { SecretBox } from './secret-box.js'

/** What of a launch must not be seen: the passwords that were typed into its form, and the variables that hold them. */
const jobValuesSchema = v.object({
  /** Extra variables in which a password stands, each whole. */
  variables: v.record(v.string(), v.unknown()),
  /** The passwords. */
  hidden: v.array(v.string()),
})

export type JobValues = Readonly<v.InferOutput<typeof jobValuesSchema>>

/** Keeps the secret values of jobs in the database, encrypted with ENCRYPTION_SECRET and bound to the run of the job. */
export interface JobVault {
  seal(runId: string, values: JobValues): Buffer
  /** @throws SecretBoxError when it was sealed with another ENCRYPTION_SECRET, or for another run */
  open(runId: string, sealed: Buffer): JobValues
}

export function createJobVault(box: SecretBox): JobVault {
  return {
    seal: (runId, { variables, hidden }) => box.seal(JSON.stringify({ variables, hidden }), ownerOfRun(runId)),
    open: (runId, sealed) => v.parse(jobValuesSchema, JSON.parse(box.open(sealed, ownerOfRun(runId)))),
  }
}

/** What the values of a run are bound to. No credential has such a name: a line feed is in none. */
export function ownerOfRun(runId: string): string {
  return `run of a job\n${runId}`
}
