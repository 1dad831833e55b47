import {
  countSchema,
  type EndRecord,
  endRecordSchema,
  fingerprintSchema,
  type JobOrder,
  jobOrderSchema,
} from '@holdfast/protocol'
import { join } from 'node:path'
import * as v from 'valibot'
import { type ProcessIdentity, processIdentitySchema } from '../host/processes.js'
import { type Fact, lookAt, readFact, unknown } from '../host/fact.js'
import { lookInSecondPlaces, removeFromSecondPlaces, type SecondPlaceFile } from './second-place.js'
import { ALWAYS_THERE, type SpoolMark } from './spool-mark.js'

/** Which run of which job: the name of its folder. The run id keeps jobs of different control planes apart. */
export interface JobKey {
  readonly jobId: number
  readonly runId: string
}

const FOLDER_NAME = /^([1-9]\d{0,15})-([0-9a-f]{32})$/

/** The name of a job's folder: `<job id>-<run id>`. */
export function folderNameOf(key: JobKey): string {
  return `${key.jobId}-${key.runId}`
}

/** The job that a folder is named after; null for a folder that is none of ours. */
export function jobKeyOf(folderName: string): JobKey | null {
  const [, jobId, runId] = FOLDER_NAME.exec(folderName) ?? []
  return jobId === undefined || runId === undefined ? null : { jobId: Number(jobId), runId }
}

const claimSchema = v.object({
  order: jobOrderSchema,
  claimed_at: v.string(),
  boot_id: v.string(),
  /** Fingerprint of the control plane that it was claimed from. */
  service: fingerprintSchema,
})
/** The content of `claim.json`. */
export type Claim = v.InferOutput<typeof claimSchema>

const startedSchema = v.object({
  ...processIdentitySchema.entries,
  /** The supervisor holds a lock on this file as long as it lives. */
  locked: v.optional(v.boolean()),
  /** Set by the agent when it took the start in order to end a job that shall not start any more. */
  by: v.optional(v.literal('agent')),
  /** The inode of the folder that the supervisor writes into: a copy of the folder has another one. */
  inode: v.optional(v.string()),
})
/** The content of `started.json`. */
export type Started = v.InferOutput<typeof startedSchema>

const ownerSchema = v.object({ service: fingerprintSchema })
/** Another control plane that took the job over, because an admin said so. */
export type Owner = v.InferOutput<typeof ownerSchema>

const exitSchema = v.object({
  exit_code: endRecordSchema.entries.exit_code,
  signal: endRecordSchema.entries.signal,
  /** True when an abort had sent it a signal before. */
  stopped: v.boolean(),
  started_at: endRecordSchema.entries.started_at,
  time: endRecordSchema.entries.ended_at,
})
/** How ansible-playbook itself ended. */
export type Exit = v.InferOutput<typeof exitSchema>

const callbackSchema = v.object({ errors: countSchema, dropped: countSchema })
/** What the event callback says about itself. */
export type CallbackReport = v.InferOutput<typeof callbackSchema>

/** One job's folder (docs/job-folder.md). Its files are the state of the job; no other state is kept of it. */
export interface JobFolder {
  readonly key: JobKey
  readonly path: string
  file(name: JobFileName): string
  claim(): Fact<Claim>
  owner(): Fact<Owner>
  started(): Fact<Started>
  /** Who ansible-playbook is. */
  playbook(): Fact<ProcessIdentity>
  exit(): Fact<Exit>
  callback(): Fact<CallbackReport>
  end(): Fact<EndRecord>
  /** The same files in the second place, which a supervisor uses when the disk takes nothing. */
  second: SecondOfJob
  /** Whether a name is in the folder. The content is its inode. */
  look(name: JobFileName): Fact<string>
  /** The folder itself. It is `absent` only where the spool around it can be seen. The content is its inode. */
  lookAround(): Fact<string>
}

/** What the second place of ends says of a job. */
export interface SecondOfJob {
  exit(): Fact<Exit>
  end(): Fact<EndRecord>
  /** @throws the system's error */
  remove(): Promise<void>
}

/** The files and folders that may be in a job folder (docs/job-folder.md). */
export type JobFileName =
  | 'claim.json'
  | 'owner.json'
  | 'work'
  | 'uploads'
  | 'extravars.yml'
  | 'supervisor.json'
  | 'supervisor.log'
  | 'isolation.json'
  | 'started.json'
  | 'playbook.json'
  | 'output.log'
  | 'events.jsonl'
  | 'callback.json'
  | 'abort.json'
  | 'abort-forced.json'
  | 'exit.json'
  | 'end.json'
  | 'launch-vars'
  | 'secret-vars'
  | 'vault-password'
  | 'secret-values'

/**
 * @param path of the folder, which need not exist
 * @param spool tells whether the disk of the spool is there
 * @param secondPlaces folders where ends are, too
 */
export function createJobFolder(
  path: string,
  key: JobKey,
  spool: SpoolMark = ALWAYS_THERE,
  secondPlaces: readonly string[] = [],
): JobFolder {
  const file = (name: JobFileName): string => join(path, name)
  const second = <Schema extends v.GenericSchema>(name: SecondPlaceFile, schema: Schema) =>
    lookInSecondPlaces(secondPlaces, key.runId, name, schema)
  return {
    key,
    path,
    file,
    claim: () => readFact(file('claim.json'), claimSchema),
    owner: () => readFact(file('owner.json'), ownerSchema),
    started: () => readFact(file('started.json'), startedSchema),
    playbook: () => readFact(file('playbook.json'), processIdentitySchema),
    exit: () => readFact(file('exit.json'), exitSchema),
    callback: () => readFact(file('callback.json'), callbackSchema),
    end: () => readFact(file('end.json'), endRecordSchema),
    second: {
      exit: () => second('exit.json', exitSchema),
      end: () => second('end.json', endRecordSchema),
      remove: () => removeFromSecondPlaces(secondPlaces, key.runId),
    },
    look: (name) => lookAt(file(name)),
    lookAround() {
      const found = lookAt(path)
      if (found.kind !== 'absent') return found
      // An empty mount point holds no folders at all. That says nothing about the job.
      const problem = spool.problem()
      return problem === null ? found : unknown(problem)
    },
  }
}

/** @param service fingerprint of the control plane that offered the job */
export function claimText(order: JobOrder, claimedAt: Date, bootId: string, service: string): string {
  return JSON.stringify({ order, claimed_at: claimedAt.toISOString(), boot_id: bootId, service } satisfies Claim)
}
