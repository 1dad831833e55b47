import type { ColumnType, Generated } from 'kysely'
import type { RunnerState } from '../../words/runner-state.js'
import type { UserType } from '../../words/user-type.js'
import type { Fixed } from './fixed.js'

/** The runners, with requests and refused requests. */
export interface RunnerTable {
  id: Generated<number>
  name: string
  state: RunnerState
  enabled: number
  is_default: number
  /** Which side dials. `outbound`: the agent. `inbound`: the control plane. */
  mode: string
  /** It changes when the runner replaces its keys. */
  fingerprint: string
  /** Raw public keys, base64. */
  identity_key: string
  sealing_key: string
  host: string
  ip: string
  version: string
  contract: number
  ansible_version: string | null
  /** How it separates jobs from each other, in one word. */
  isolation: string
  /** What the agent reports, and what an admin set (the latter wins; null: not set). */
  agent_max_jobs: number
  max_jobs: number | null
  /** The highest generation so far, and its process. A second process with the same generation is a clone. */
  generation: number
  instance: string
  /** It grows with every connection. A write of an older connection has an older epoch, and is refused. */
  epoch: number
  running_jobs: number
  draining: number
  spool_bytes: number
  clock_skew_ms: number
  requested_at: number
  approved_at: number | null
  approved_by: string | null
  last_seen: number
  description: string
  /** When another process was refused because it claimed this identity, and its address. */
  clone_seen_at: number | null
  clone_host: string | null
  clone_ip: string | null
  /** The report of that process about itself. An admin may accept it. */
  clone_generation: ColumnType<number | null, number | null | undefined, number | null>
  clone_instance: ColumnType<string | null, string | null | undefined, string | null>
  /** The process that an admin replaced by another one. It can never continue the identity again. */
  replaced_instance: ColumnType<string | null, string | null | undefined, string | null>
  /**
   * Who accepted an older copy of the state folder whose jobs have not been compared yet; null: nobody, or they have
   * been.
   */
  copy_accepted_by: ColumnType<string | null, string | null | undefined, string | null>
  /** The node with its socket, unless that node died; null: none. */
  connected_node: string | null
  /** Who marked a request, so that it stays when its socket goes; null: nobody. */
  kept_by: string | null
  /** When notifications said that this runner is lost; null: it is not lost. */
  lost_at: ColumnType<number | null, number | null | undefined, number | null>
}

/** A job that a runner has and that waits for an admin to decide about it (`orphans.ts`). */
export interface OrphanTable {
  runner_id: Fixed<number>
  run_id: Fixed<string>
  /** The number that it has on its runner. */
  job_number: number
  /** One of `ORPHAN_REASONS`. */
  reason: string
  /** Fingerprint of the control plane that it belongs to; null: it belongs to no other one. */
  service: string | null
  ended: number
  output_bytes: number
  events_bytes: number
  /** The description of its runner; null: there is none. */
  form: string | null
  user_name: string | null
  user_type: UserType | null
  claimed_at: number | null
  /** When its runner named it last. */
  reported_at: number
  /** One of `ORPHAN_DECISIONS`, until it is carried out, and the admin who decided. */
  decision: string | null
  decided_by: string | null
}

/** The join tokens, by their hashes. */
export interface JoinTokenTable {
  id: Generated<number>
  name: Fixed<string | null>
  hash: Fixed<string>
  created_at: Fixed<number>
  created_by: Fixed<string>
  expires_at: Fixed<number>
  used_at: number | null
  /** Name of the runner that used it. */
  used_by: string | null
}

/** Where an agent with RTE_MODE=inbound listens. One node at a time dials it. */
export interface RunnerAddressTable {
  id: Generated<number>
  /** `http://host:port`, without a path. */
  address: Fixed<string>
  /** The name that the runner there must have; null: any name. */
  name: Fixed<string | null>
  /** The only key that may answer there; null: any key. Then an admin compares it before approving. */
  fingerprint: Fixed<string | null>
  created_at: Fixed<number>
  created_by: Fixed<string>
  /** The node that dials it. When that node is dead, another one takes it over. Null: nobody yet. */
  node: string | null
  /** Why the last try failed; null: it succeeded. */
  problem: string | null
}

/** A key with which the control plane proves to runners who it is. The newest one counts. */
export interface ServiceKeyTable {
  id: Generated<number>
  /** Raw Ed25519 public key, base64. */
  public_key: Fixed<string>
  /** Sealed PKCS#8 PEM; null after the key was replaced. */
  private_key: Buffer | null
  /**
   * The signature of this key over the key that replaced it; null: it was not replaced, or it could not sign any more.
   */
  signature: string | null
  created_at: Fixed<number>
}
