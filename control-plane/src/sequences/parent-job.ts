import * as v from 'valibot'
import { SecretsProblem, openValues } from '../credentials/job/sealing.js'
import type { JobVault } from '../credentials/job/sealed-values.js'
import { approvalOf } from '../jobs/record/approval.js'
import { passwordFieldsOf } from '../jobs/record/password-fields.js'
import { objectSchema } from '../jobs/record/playbook.js'
import type { SequencePlan } from '../jobs/launch/plan-sequence.js'
import type { LaunchSecrets } from '../jobs/secrets/secret-values.js'
import { findJobSecrets } from '../store/jobs/job-secrets.js'
import { type JobRow, findJob } from '../store/jobs/jobs.js'
import { type SequenceNodeRow, findNodes, findSequence } from '../store/jobs/sequences.js'
import type { Queries } from '../store/store.js'
import type { NodeState, Values } from './kind.js'
import { nodeStatusOf } from './node-status.js'

const planSchema = v.object({
  credentials: v.record(v.string(), v.string()),
  credentialFields: v.array(v.string()),
  plan: v.unknown(),
})

/** A step or workflow node with the facts of its child job, if it has one. */
export interface StoredNode extends NodeState {
  readonly subjob: {
    readonly status: string
    readonly reason: string | null
    readonly endTime: number | null
    readonly isAbortRequested: boolean
    /** Its runner was revoked or deleted, so it can report nothing any more. */
    readonly isCutOff: boolean
  } | null
}

/** A parent job as it is stored. */
export interface ParentJob {
  readonly job: JobRow
  readonly version: number
  readonly launch: SequencePlan
  /** In clear. */
  readonly extravars: Values
  /** Which of the variables must not be shown. */
  readonly secrets: LaunchSecrets
  /** The reason why the passwords cannot be decrypted; null when they can. With a reason, no child job can start. */
  readonly problem: string | null
  readonly nodes: readonly StoredNode[]
}

/** Reads all of a parent job; null when it is gone or is no parent job. */
export async function readParentJob(
  queries: Queries,
  vault: Pick<JobVault, 'open'>,
  jobId: number,
): Promise<ParentJob | null> {
  // The version is read first. What is read after it may be newer. Then the guarded write of the turn does not succeed.
  const sequence = await findSequence(queries, jobId)
  const job = sequence && (await findJob(queries, jobId))
  if (!job) return null
  const { extravars, ...opened } = await openVariables(queries, vault, job)
  return {
    ...opened,
    job,
    version: sequence.version,
    launch: v.parse(planSchema, JSON.parse(sequence.plan)),
    extravars,
    nodes: (await findNodes(queries, jobId)).map(nodeOf),
  }
}

async function openVariables(
  queries: Queries,
  vault: Pick<JobVault, 'open'>,
  job: JobRow,
): Promise<Pick<ParentJob, 'extravars' | 'secrets' | 'problem'>> {
  const stored = v.parse(objectSchema, JSON.parse(job.extravars))
  const keys = new Set(passwordFieldsOf(job))
  const kept = (await findJobSecrets(queries, [job.id])).get(job.id)
  if (!kept) return { extravars: stored, secrets: { values: [], keys }, problem: null }
  try {
    const { variables, hidden } = openValues(vault, job.run_id, kept.sealed)
    return { extravars: { ...stored, ...variables }, secrets: { values: hidden, keys }, problem: null }
  } catch (error) {
    if (!(error instanceof SecretsProblem)) throw error
    return { extravars: stored, secrets: { values: [], keys }, problem: error.message }
  }
}

function nodeOf(row: SequenceNodeRow): StoredNode {
  return {
    identifier: row.identifier,
    status: nodeStatusOf(row.status),
    subjobId: row.subjob_id,
    startTime: row.start_time,
    endTime: row.end_time,
    reason: row.reason,
    approval: approvalOf(row),
    dueTime: row.due_time,
    artifacts: row.artifacts === null ? {} : v.parse(objectSchema, JSON.parse(row.artifacts)),
    subjob:
      row.subjob_status === null
        ? null
        : {
            status: row.subjob_status,
            reason: row.subjob_reason,
            endTime: row.subjob_end_time,
            isAbortRequested: row.subjob_abort_requested === 1,
            isCutOff: row.runner_state !== 'approved',
          },
  }
}
