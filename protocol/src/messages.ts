import * as v from 'valibot'
import { MAX_CONTROL_BYTES } from './contract.js'
import { endRecordSchema } from './end-record.js'
import { ProtocolError } from './errors.js'
import { STREAMS } from './frames.js'
import { fingerprintSchema, publicKeySchema } from './identity.js'
import { jobOrderSchema, launchedSchema } from './job-order.js'
import { countSchema, jobIdSchema, parseJson, runIdSchema, runnerNameSchema, sha256Schema } from './parse.js'
import { successionSchema } from './service-key.js'

const sentence = v.pipe(v.string(), v.maxLength(4000))
const word = v.pipe(v.string(), v.maxLength(200))

/** What the agent says about itself and signs. It crosses as text, so that both sides see the very bytes signed. */
export const helloPayloadSchema = v.object({
  name: runnerNameSchema,
  identity_key: publicKeySchema,
  sealing_key: publicKeySchema,
  /** Goes up by one, durably, at every start of the agent. */
  generation: countSchema,
  /** Random id of this process: two processes with one generation are clones. */
  instance: runIdSchema,
  /** True: its state folder is a copy of that of an earlier process, and no control plane has let it in since. */
  copied: v.optional(v.boolean()),
  contract: countSchema,
  /** The newest contract that it speaks. */
  speaks: countSchema,
  version: word,
  ansible_version: v.nullable(word),
  host: word,
  max_jobs: countSchema,
  /** How the runner keeps jobs apart, in a word. */
  isolation: word,
  join_token: v.nullable(word),
  /** Keys that this runner had before; a runner is known by any of them. */
  succession: successionSchema,
  /** The runner's clock, milliseconds since the epoch. */
  clock: v.number(),
})
/** What an agent says about itself. */
export type HelloPayload = v.InferOutput<typeof helloPayloadSchema>

/** What the control plane says about itself and signs; it crosses as text, too. */
export const proofPayloadSchema = v.object({
  /** Its own key. A runner that trusts another key ends the handshake here. */
  service_key: publicKeySchema,
  /** X25519, for this connection only: half of the secret that seals everything after it. */
  ephemeral_key: publicKeySchema,
  /** True when the control plane ends TLS itself. Then a value that both sides export from TLS is signed, too. */
  tls: v.boolean(),
  /** Keys that it had before. A runner that trusts one of them trusts the new one, too. */
  succession: successionSchema,
})
/** What the control plane says about itself. */
export type ProofPayload = v.InferOutput<typeof proofPayloadSchema>

const runRef = { job_id: jobIdSchema, run_id: runIdSchema }

/** A job in the agent's spool, as listed after every (re)connect. */
export const spooledJobSchema = v.object({
  ...runRef,
  output: countSchema,
  events: countSchema,
  ended: v.boolean(),
  /** Fingerprint of the control plane that the job was claimed from; absent: it is the one that hears this. */
  service: v.optional(fingerprintSchema),
})
/** One job in the list of an agent's spool. */
export type SpooledJob = v.InferOutput<typeof spooledJobSchema>

/** What the spool says of a job that the control plane did not know: enough to make its row anew. */
export const orphanDescriptionSchema = v.object({
  form: v.pipe(v.string(), v.maxLength(4096)),
  playbook: v.pipe(v.string(), v.maxLength(4096)),
  /** Without what is secret; null: too large for a message, or the job is another control plane's. */
  extravars: v.nullable(v.record(v.string(), v.unknown())),
  launched: launchedSchema,
  manifest_sha256: sha256Schema,
  /** Milliseconds since the epoch, by the runner's clock. */
  claimed_at: countSchema,
})
/** What the spool says of a job that the control plane does not know. */
export type OrphanDescription = v.InferOutput<typeof orphanDescriptionSchema>

/** Why an agent does not take an offered job now. Busy, draining and spool_full are asked again later. */
export const REFUSALS = ['busy', 'draining', 'spool_full', 'files_changed', 'files_failed'] as const

/** Agent to control plane. */
export const agentMessageSchema = v.variant('type', [
  /** The answer to the challenge. It contains only the public key of the runner. */
  v.object({ type: v.literal('greeting'), nonce: word, ephemeral_key: publicKeySchema, identity_key: publicKeySchema }),
  v.object({ type: v.literal('hello'), payload: v.pipe(v.string(), v.maxLength(8192)), signature: word }),
  /** Every heartbeat and whenever one of these changes. */
  v.object({
    type: v.literal('status'),
    running_jobs: countSchema,
    max_jobs: countSchema,
    draining: v.boolean(),
    spool_bytes: countSchema,
    clock: v.number(),
  }),
  v.object({ type: v.literal('inventory'), jobs: v.pipe(v.array(spooledJobSchema), v.maxLength(10_000)) }),
  /** The claim is on disk; the job starts. */
  v.object({ type: v.literal('claimed'), ...runRef }),
  v.object({ type: v.literal('refused'), ...runRef, code: v.picklist(REFUSALS), message: sentence }),
  /** Blobs of an offered job that the agent does not have. */
  v.object({
    type: v.literal('want'),
    ...runRef,
    hashes: v.pipe(v.array(sha256Schema), v.minLength(1), v.maxLength(10_000)),
  }),
  /** An uploaded file of an offered job, from the first byte that the agent does not have. */
  v.object({ type: v.literal('want_upload'), ...runRef, sha256: sha256Schema, offset: countSchema }),
  v.object({ type: v.literal('end'), job_id: jobIdSchema, record: endRecordSchema }),
  /** Answer to the verdict `unknown` and to `adopt`: what the spool says of the job; null: its claim cannot be read. */
  v.object({
    type: v.literal('orphan'),
    ...runRef,
    service: v.nullable(fingerprintSchema),
    ended: v.boolean(),
    description: v.nullable(orphanDescriptionSchema),
  }),
  /** Answer to an abort of a job that is not in the spool. */
  v.object({ type: v.literal('unknown_job'), ...runRef }),
  /**
   * Answer to `recall`, and to the offer of a run that is over. `known` is false for a run that the agent has never had.
   * `record` is how the run ended; null: it was never started, or its end is not known any more.
   */
  v.object({ type: v.literal('recalled'), ...runRef, known: v.boolean(), record: v.nullable(endRecordSchema) }),
])
/** A message from an agent to the control plane. */
export type AgentMessage = v.InferOutput<typeof agentMessageSchema>

/** What the control plane has of a job in the agent's spool, and what shall happen with it. */
export const resumedJobSchema = v.object({
  ...runRef,
  /**
   * `continue`: send from these lengths on. `stored`: the end is stored. `unknown`: describe it and keep it. `forget`: a
   * person asked for its end.
   */
  verdict: v.picklist(['continue', 'stored', 'forget', 'unknown']),
  /** The number that the job has here, in frames and messages; absent: `job_id`. */
  number: v.optional(jobIdSchema),
  output: countSchema,
  events: countSchema,
  abort: v.boolean(),
})
/** The control plane's answer about one job of the spool. */
export type ResumedJob = v.InferOutput<typeof resumedJobSchema>

/** Control plane to agent. */
export const serverMessageSchema = v.variant('type', [
  v.object({ type: v.literal('challenge'), nonce: word, time: v.number(), contract: countSchema, version: word }),
  /** Proves that the control plane has the key that it names. */
  v.object({ type: v.literal('proof'), payload: v.pipe(v.string(), v.maxLength(8192)), signature: word }),
  /** The handshake is done. `max_jobs` is the admin's limit, which wins over the agent's own. */
  v.object({
    type: v.literal('welcome'),
    state: v.picklist(['waiting', 'approved']),
    epoch: countSchema,
    max_jobs: v.nullable(countSchema),
    heartbeat_ms: v.pipe(v.number(), v.integer(), v.minValue(50)),
    /** The newest contract that the control plane speaks. */
    speaks: countSchema,
  }),
  /** An admin approved the runner or changed its limit while it is connected. */
  v.object({
    type: v.literal('settings'),
    state: v.picklist(['waiting', 'approved']),
    max_jobs: v.nullable(countSchema),
  }),
  /** Answer to the inventory. */
  v.object({ type: v.literal('resume'), jobs: v.array(resumedJobSchema) }),
  /** Runs that the agent should have and did not list. It says for each what it remembers. */
  v.object({ type: v.literal('recall'), jobs: v.array(v.object(runRef)) }),
  v.object({ type: v.literal('offer'), order: jobOrderSchema }),
  /** A wanted blob or upload is not there any more: its file changed or went away since the offer. */
  v.object({ type: v.literal('blob_gone'), ...runRef, sha256: sha256Schema }),
  /** Stored lengths of both streams, after the commit. */
  v.object({ type: v.literal('ack'), job_id: jobIdSchema, output: countSchema, events: countSchema }),
  v.object({ type: v.literal('rewind'), job_id: jobIdSchema, stream: v.picklist(STREAMS), to: countSchema }),
  /** The control plane keeps no more of this stream than this length. The agent must send no more of it. */
  v.object({ type: v.literal('stream_full'), job_id: jobIdSchema, stream: v.picklist(STREAMS), length: countSchema }),
  v.object({ type: v.literal('end_stored'), ...runRef }),
  v.object({ type: v.literal('abort'), ...runRef }),
  v.object({ type: v.literal('forget'), ...runRef }),
  /** An admin has this control plane take over a job that was claimed from another one. */
  v.object({ type: v.literal('adopt'), ...runRef }),
])
/** A message from the control plane to an agent. */
export type ServerMessage = v.InferOutput<typeof serverMessageSchema>

/** @throws ProtocolError `bad_message`, `too_large` */
export function parseAgentMessage(text: string): AgentMessage {
  return parseJson(agentMessageSchema, bounded(text))
}

/** @throws ProtocolError `bad_message`, `too_large` */
export function parseServerMessage(text: string): ServerMessage {
  return parseJson(serverMessageSchema, bounded(text))
}

/** @throws ProtocolError `bad_message` */
export function parseProofPayload(text: string): ProofPayload {
  return parseJson(proofPayloadSchema, text)
}

/** @throws ProtocolError `bad_message` */
export function parseHelloPayload(text: string): HelloPayload {
  return parseJson(helloPayloadSchema, text)
}

function bounded(text: string): string {
  if (text.length > MAX_CONTROL_BYTES) throw new ProtocolError('too_large', 'control message over its limit')
  return text
}
