import {
  countSchema,
  type EndRecord,
  fingerprintSchema,
  type JobOrder,
  endRecordSchema,
  jobOrderSchema,
  parseJson,
} from '@holdfast/protocol'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import * as v from 'valibot'
import { processIdentitySchema } from '../processes.js'
import { isErrno } from './durable.js'

/** Which run of which job: the name of its folder. The run id keeps jobs of different control planes apart. */
export interface JobKey {
  readonly jobId: number
  readonly runId: string
}

const FOLDER_NAME = /^([1-9]\d{0,15})-([0-9a-f]{32})$/

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
  /** Fingerprint of the control plane that it was claimed from; absent: claimed by an older agent. */
  service: v.optional(fingerprintSchema),
})
export type Claim = v.InferOutput<typeof claimSchema>

const startedSchema = v.object({
  ...processIdentitySchema.entries,
  /** The supervisor holds a lock on this file as long as it lives. */
  locked: v.optional(v.boolean()),
  /** Set by the agent when it took the start in order to end a job that shall not start any more. */
  by: v.optional(v.literal('agent')),
})
export type Started = v.InferOutput<typeof startedSchema>

const ownerSchema = v.object({ service: fingerprintSchema })
/** Another control plane that took the job over, because an admin said so. */
export type Owner = v.InferOutput<typeof ownerSchema>

const callbackSchema = v.object({ errors: countSchema, dropped: countSchema })
/** What the event callback says about itself. */
export type CallbackReport = v.InferOutput<typeof callbackSchema>

/** What a mark says: absent, there but not readable (being written, or torn), or its content. */
export type Mark<Content> = 'absent' | 'unreadable' | Content

/** One job's folder (docs/job-folder.md). The marks in it are the job's state; nothing is remembered beside them. */
export interface JobFolder {
  readonly key: JobKey
  readonly path: string
  file(name: JobFileName): string
  claim(): Mark<Claim>
  owner(): Mark<Owner>
  started(): Mark<Started>
  callback(): Mark<CallbackReport>
  end(): Mark<EndRecord>
  abortAsked(): boolean
  /** False when somebody has removed the folder. */
  exists(): boolean
}

export type JobFileName =
  | 'claim.json'
  | 'owner.json'
  | 'work'
  | 'uploads'
  | 'extravars.yml'
  /** Of older releases. */
  | 'extravars.json'
  | 'supervisor.json'
  | 'supervisor.log'
  | 'isolation.json'
  | 'started.json'
  | 'output.log'
  | 'events.jsonl'
  | 'callback.json'
  | 'abort.json'
  | 'end.json'
  | 'launch-vars'
  | 'secret-vars'
  | 'vault-password'
  | 'secret-values'

export function createJobFolder(path: string, key: JobKey): JobFolder {
  const file = (name: JobFileName): string => join(path, name)
  return {
    key,
    path,
    file,
    claim: () => readMark(file('claim.json'), claimSchema),
    owner: () => readMark(file('owner.json'), ownerSchema),
    started: () => readMark(file('started.json'), startedSchema),
    callback: () => readMark(file('callback.json'), callbackSchema),
    end: () => readMark(file('end.json'), endRecordSchema),
    abortAsked: () => existsSync(file('abort.json')),
    exists: () => isThere(path),
  }
}

/** @param service fingerprint of the control plane that offered the job */
export function claimText(order: JobOrder, claimedAt: Date, bootId: string, service: string | null): string {
  const claim: Claim = { order, claimed_at: claimedAt.toISOString(), boot_id: bootId }
  return JSON.stringify(service === null ? claim : { ...claim, service })
}

/** Whether the folder's name is there. What only cannot be looked at is there. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch {
    return true
  }
}

/** Marks are small and looked at several times a second, so they are read at once and not in the thread pool. */
function readMark<Schema extends v.GenericSchema>(path: string, schema: Schema): Mark<v.InferOutput<Schema>> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return 'absent'
    return 'unreadable'
  }
  try {
    return parseJson(schema, text)
  } catch {
    return 'unreadable'
  }
}
