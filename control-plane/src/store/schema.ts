import type { ColumnType, Generated } from 'kysely'
import type { Dispatch } from '../words/job-dispatch.js'
import type { PlaceState } from '../words/job-stage.js'
import type { JobStatus } from '../words/job-status.js'
import type { JobType } from '../words/job-type.js'
import type { NodeStatus } from '../words/node-status.js'
import type { RunnerState } from '../words/runner-state.js'
import type { UserType } from '../words/user-type.js'

/**
 * The tables. Times are in milliseconds since the epoch, booleans are 0 or 1, JSON is text, bytes are blobs. This is
 * the same on SQLite and PostgreSQL. The file of each aggregate converts rows to the types of the rooms.
 */
export interface Database {
  user: UserTable
  session: SessionTable
  sign_in_failure: SignInFailureTable
  sign_in_code: SignInCodeTable
  known_network: KnownNetworkTable
  job: JobTable
  job_secret: JobSecretTable
  job_transition: JobTransitionTable
  job_stage: JobStageTable
  job_stream: JobStreamTable
  job_output: JobOutputTable
  job_output_block: JobOutputBlockTable
  job_output_mark: JobOutputMarkTable
  job_event: JobEventTable
  runner: RunnerTable
  join_token: JoinTokenTable
  runner_address: RunnerAddressTable
  appearance: AppearanceTable
  lock: LockTable
  past_name: PastNameTable
  audit: AuditTable
  audit_chain: AuditChainTable
  audit_export: AuditExportTable
  credential: CredentialTable
  upload: UploadTable
  upload_claim: UploadClaimTable
  job_file: JobFileTable
  awaited_approval: AwaitedApprovalTable
  node: NodeTable
  job_sequence: JobSequenceTable
  sequence_node: SequenceNodeTable
  service_key: ServiceKeyTable
  orphan: OrphanTable
  past_run: PastRunTable
  service_clock: ServiceClockTable
  database_id: DatabaseIdTable
  schedule: ScheduleTable
  notification_target: NotificationTargetTable
  notification_event: NotificationEventTable
  notification_delivery: NotificationDeliveryTable
}

/** A column that is written once, at insert. */
type Fixed<T> = ColumnType<T, T, never>

/** The accounts. `user_type` and `username_key` together are unique. */
export interface UserTable {
  id: Generated<number>
  username: string
  /** Lower-case name, unique with the type. */
  username_key: string
  type: UserType
  password_hash: string | null
  /**
   * The id by which the provider knows a user who is not local, unique with the type; null where there is only a name.
   */
  subject: ColumnType<string | null, string | null | undefined, string | null>
  email: string | null
  /** JSON array of group names without prefix. */
  groups: string
  enabled: number
  /** Number of groups of the last sign-in that were not stored, because they were too many or too long. */
  groups_left_out: Generated<number>
  created_at: Fixed<number>
  /** 1: the user has to change the password before they can do anything else. */
  password_must_change: ColumnType<number, number | undefined, number>
  /**
   * The deleted account that had this name before, 0 when its id is unknown. A role that names the user then does not
   * mean this account. Null: nobody had the name before, or an admin accepted this account under it.
   */
  name_had_by: ColumnType<number | null, number | null | undefined, null>
}

/** The names of deleted accounts. The next account with such a name belongs to somebody else. */
export interface PastNameTable {
  type: Fixed<UserType>
  /** As in `user`. */
  username_key: Fixed<string>
  /** The last account with this name; 0 when its id is unknown. */
  user_id: number
}

/** The sessions: sign-ins and API tokens. */
export interface SessionTable {
  id: Fixed<string>
  user_id: Fixed<number>
  /** `login`: a sign-in; `api`: an API token. */
  kind: Fixed<'login' | 'api'>
  name: string | null
  /** SHA-256 of the one refresh token that is valid now; null for API tokens. */
  refresh_hash: string | null
  /** SHA-256 of the secret part of an API token, or of the cookie of a browser; null for sign-ins with tokens. */
  token_hash: string | null
  created_at: Fixed<number>
  expires_at: number
  last_used_at: number | null
  /** The client's network at the sign-in; null for API tokens and for sessions of older releases. */
  network: ColumnType<string | null, string | null | undefined, never>
  /** JSON array: the scopes of an API token; null: everything that its owner may do. */
  scopes: ColumnType<string | null, string | null | undefined, never>
}

/** A code that a client with a browser exchanges once for its tokens. */
export interface SignInCodeTable {
  /** SHA-256 of the code. */
  hash: Fixed<string>
  user_id: Fixed<number>
  /** SHA-256, base64url, of the text that the client has to send together with the code. */
  challenge: Fixed<string>
  expires_at: Fixed<number>
}

/** Failed sign-ins by key. A key is a name at an address, a name from everywhere, or an address (`auth/sign-in/sign-in.ts`). */
export interface SignInFailureTable {
  key: Fixed<string>
  failures: number
  first_at: number
  locked_until: number | null
  /** How often the key was locked, which makes the next lock longer, and until when this number counts. */
  locks: ColumnType<number, number | undefined, number>
  locks_count_until: number | null
}

/** The networks from which a user has signed in with a password. */
export interface KnownNetworkTable {
  user_id: Fixed<number>
  /** An IPv4 address, or the /64 of an IPv6 address. */
  network: Fixed<string>
  last_at: number
}

/** The jobs. */
export interface JobTable {
  id: Generated<number>
  run_id: Fixed<string>
  form: Fixed<string>
  target: Fixed<string>
  job_type: Fixed<JobType>
  status: JobStatus
  status_reason: string | null
  /** Facts that the status does not tell, such as "no structured events". */
  detail: string | null
  start_time: Fixed<number>
  end_time: number | null
  /**
   * The account that launched it, also after the account is gone. Null: nobody, or a release before accounts were
   * stored.
   */
  user_id: Fixed<number | null>
  user_name: Fixed<string>
  user_type: Fixed<UserType>
  /** The row of the runner on which it waits or runs. Its key says which runner has the job, because rows change. */
  runner_id: number | null
  runner_name: string | null
  /** Who accepted the older copy of a state folder from which this job is reported; null: it is no copy. */
  older_copy: ColumnType<string | null, string | null | undefined, string | null>
  /** Fingerprint of the runner that was offered the job or has it; null: it was never offered. */
  runner_key: ColumnType<string | null, string | null | undefined, string | null>
  /** The place of the job on its way to a runner (`words/job-dispatch.ts`). */
  dispatch: Dispatch
  /** Until when it may wait for the runner, by the service clock; null when it never had to wait, or has ended. */
  wait_until: number | null
  parent_id: Fixed<number | null>
  step: string | null
  /** JSON: the approval that the job waits for or got last; null when it never needed one. */
  approval: string | null
  abort_requested: number
  abort_requested_by: string | null
  abandoned_at: number | null
  /** The connection of its runner (`runner.epoch`) on which the runner last named the job; null: it never did. */
  held_epoch: ColumnType<number | null, number | null | undefined, number | null>
  /** JSON object: the extra variables that reach the playbook, with masks in place of passwords (`job_secret`). */
  extravars: Fixed<string>
  /** JSON object of names. */
  credentials: Fixed<string>
  /** JSON object of the field values, without passwords, and with a mask in place of values that contain one. */
  raw_form_data: Fixed<string | null>
  /** JSON array: the keys of the form's password fields at the launch. */
  password_fields: ColumnType<string | null, string | null | undefined, never>
  /** JSON: what the order needs in addition to the extra variables. */
  playbook: Fixed<string>
  /** Hash of the manifest that was approved. The job runs no other playbook folder. Null: no approval limits it. */
  approved_manifest: ColumnType<string | null, string | null | undefined, string | null>
  /**
   * When its row was made from the report of its runner, because this database did not know the run; null: the job was
   * launched here.
   */
  adopted_at: ColumnType<number | null, number | null | undefined, never>
  /** The schedule that started it, also after the schedule is gone; null: a person or its parent job started it. */
  schedule_id: ColumnType<number | null, number | null | undefined, never>
  /** The name that the schedule had then. */
  schedule_name: ColumnType<string | null, string | null | undefined, never>
  /** How long it may run, in milliseconds; null: for ever. */
  time_limit_ms: ColumnType<number | null, number | null | undefined, never>
  /** How long a connected runner has had it, in milliseconds. It is counted only for a job with a time limit. */
  ran_ms: ColumnType<number, number | undefined, number>
  /** When this time was counted last, by the service clock. */
  counted_at: ColumnType<number | null, number | null | undefined, number | null>
  /** Its group, if the form limits how many jobs of a group run at once; null: it has no group. */
  concurrency_group: ColumnType<string | null, string | null | undefined, never>
  /** The limit of places in its group. It counts when this job gets its place. */
  concurrency_limit: ColumnType<number | null, number | null | undefined, never>
  /** 1: it has a place in its group, until its end. */
  has_place: ColumnType<number, number | undefined, number>
  /** JSON: who gets notifications about it, according to its form or step at the launch; null: nobody. */
  notifications: ColumnType<string | null, string | null | undefined, never>
}

/** The secret values of a job. There is a row while the job has any and has not ended. */
export interface JobSecretTable {
  job_id: Fixed<number>
  /** Encrypted with ENCRYPTION_SECRET and bound to the run: the passwords, and the variables that contain one. */
  sealed: Buffer
  /** JSON array: the names of these variables. */
  names: Fixed<string>
}

/** Every move of a job's status, so that "abandoned, then success" stays visible. */
export interface JobTransitionTable {
  job_id: Fixed<number>
  time: Fixed<number>
  from_status: Fixed<JobStatus>
  to_status: Fixed<JobStatus>
  reason: Fixed<string | null>
}

/** Where jobs were: a row for each move on the way to a runner, and one for each absence of the runner. */
export interface JobStageTable {
  id: Generated<number>
  job_id: Fixed<number>
  state: Fixed<PlaceState>
  since: Fixed<number>
  /** The end of an absence, which is stored when the runner is back. Null: the next move is the end. */
  until: Fixed<number | null>
}

/** The stored lengths of a job's streams. These numbers are acknowledged. */
export interface JobStreamTable {
  job_id: Fixed<number>
  /** Bytes of the runner's output stream. */
  output_length: number
  /** Bytes of everything that is shown as output: the runner's output and the service's own lines. */
  shown_length: number
  /** Bytes of the runner's event stream, and the number of its events. */
  events_length: number
  events_count: number
  /**
   * Whether the runner sent more than is stored: 0 no; 1 yes; 2 yes, before the stream was sent again from its start.
   */
  output_full: Generated<number>
  events_full: Generated<number>
  /**
   * Goes up when the shown output starts again. Then the bytes that a reader has of an earlier generation do not belong
   * to it.
   */
  generation: Generated<number>
  /**
   * Line ends of everything that is shown; null: not counted, because an older release stored the output, or because it
   * was copied.
   */
  shown_lines: ColumnType<number | null, number | null | undefined, number | null>
  /**
   * The comparison of the end record with the stored streams; null: the job has not ended, or they were not compared.
   */
  integrity: ColumnType<'verified' | 'incomplete' | null, null | undefined, 'verified' | 'incomplete' | null>
  /** The digests that were equal, as hexadecimal SHA-256, and when they were compared. */
  output_sha256: ColumnType<string | null, null | undefined, string | null>
  events_sha256: ColumnType<string | null, null | undefined, string | null>
  verified_at: ColumnType<number | null, null | undefined, number | null>
}

/** Line ends of the shown output by blocks of 64 KiB. A block without any has no row. */
export interface JobOutputBlockTable {
  job_id: Fixed<number>
  /** 0 is the block of the first byte. */
  block: Fixed<number>
  lines: number
}

/** Marks in the output of a runner. They are a part of its stream, but not of the shown output. */
export interface JobOutputMarkTable {
  job_id: Fixed<number>
  /** Bytes of the runner's stream before the mark, including earlier marks. */
  at: Fixed<number>
  /** The event whose output ends here. */
  event: Fixed<number>
  /** Shown bytes before the mark. */
  shown: Fixed<number>
  /** Line ends of the shown output before the mark; null: not known. */
  line: Fixed<number | null>
  /** The mark as it came. */
  mark: Fixed<Buffer>
}

/** Output in the order in which it is shown. `position` counts the shown bytes before this piece. */
export interface JobOutputTable {
  job_id: Fixed<number>
  position: Fixed<number>
  /** `runner`: a piece of the runner's stream; `service`: a line of the service. */
  origin: Fixed<'runner' | 'service'>
  data: Fixed<Buffer>
}

/** The structured events of jobs. */
export interface JobEventTable {
  job_id: Fixed<number>
  /** The event's `order`: 1, 2, 3 … */
  position: Fixed<number>
  type: Fixed<string>
  play: Fixed<string | null>
  task: Fixed<string | null>
  host: Fixed<string | null>
  /** Seconds. */
  duration: Fixed<number | null>
  time: Fixed<string>
  /** The line as the runner wrote it, with its newline. The event stream is built again from these lines. */
  line: Fixed<Buffer>
}

/** The runners, with requests and refused requests. */
export interface RunnerTable {
  id: Generated<number>
  name: Fixed<string>
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
  /** How it separates jobs from each other, in one word; null: unknown. */
  isolation: string | null
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

/** The run of a deleted job. It is kept for a while, because its runner may still name it. */
export interface PastRunTable {
  run_id: Fixed<string>
  /** `stored`: its end was stored. `asked`: a person deleted it before that. */
  how: Fixed<'stored' | 'asked'>
  deleted_at: Fixed<number>
}

/** One row for each control plane that shares the database, as long as it runs and a while after it died. */
export interface NodeTable {
  id: Fixed<string>
  version: Fixed<string>
  /** Host and port, for people. */
  address: Fixed<string>
  started_at: Fixed<number>
  /** The time of its own clock. The others only look whether it changes. */
  last_seen: number
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

/** One row with the settings that the header of the pages shows. */
export interface AppearanceTable {
  id: Fixed<number>
  theme: string
  name: string
  announcement: string
  environment: string
}

/** The locks, such as the one of the form designer. */
export interface LockTable {
  name: Fixed<string>
  /** As it is shown. */
  holder: string
  /** The account that holds it; null: it is gone. */
  holder_id: number | null
  taken_at: number
  touched_at: number
}

/** One record for each request that would change something. `status` is null until the request was answered. */
export interface AuditTable {
  id: Generated<number>
  time: Fixed<number>
  user_name: string | null
  user_type: UserType | null
  /** The account; null in records of older releases, and when no account is known. */
  user_id: ColumnType<number | null, number | null | undefined, number | null>
  address: Fixed<string>
  action: string
  object_kind: string
  object_id: string | null
  object_name: string | null
  status: number | null
  request_id: Fixed<string>
  /** A special request, such as `force`; null: none. */
  detail: ColumnType<string | null, string | null | undefined, string | null>
  /** Its place in the chain: 1, 2, 3 …; null: not chained yet. A record with a place is never changed. */
  position: ColumnType<number | null, null | undefined, number>
  /** SHA-256 over the record, its position and the hash of the one before; hex. */
  hash: ColumnType<string | null, null | undefined, string>
}

/** One row: the beginning and the end of the chain of the audit trail. */
export interface AuditChainTable {
  id: Fixed<number>
  /** The newest record of the chain; 0 and the hash of zeros when it is empty. */
  head_position: number
  head_hash: string
  /** The last record that retention removed; 0 when it has removed none. */
  anchor_position: number
  anchor_hash: string
}

/** For each place outside: the position up to which the audit trail was sent. */
export interface AuditExportTable {
  /** `file` or `syslog`. */
  name: Fixed<string>
  /** The last record of the chain that was sent. */
  position: number
  /** The node that sends, and until when by its own clock. Meanwhile other nodes do not send the same records. */
  holder: string | null
  held_until: number
}

/** The stored credentials. */
export interface CredentialTable {
  id: Generated<number>
  name: string
  type: string
  user_name: string | null
  host: string | null
  port: number | null
  description: string
  /** JSON object: the options that only some types have; null: none. */
  options: string | null
  /** Encrypted with ENCRYPTION_SECRET and bound to the name. */
  secret: Buffer
  created_at: Fixed<number>
  updated_at: number
}

/** A file that a user uploaded. Its bytes are in the upload folder under the stored name. */
export interface UploadTable {
  id: Generated<number>
  /** Random, 32 hex digits. */
  stored_name: Fixed<string>
  /** The account that uploaded it; null: an older release stored it without an account, and it belongs to nobody. */
  owner_id: Fixed<number | null>
  owner_name: Fixed<string>
  owner_type: Fixed<string>
  size: Fixed<number>
  sha256: Fixed<string>
  /** The name of the file on the user's computer; never a path. */
  original_name: Fixed<string>
  mime_type: Fixed<string>
  encoding: Fixed<string>
  created_at: Fixed<number>
  /** 1 from its first job on. Then it is removed together with the last job that refers to it. */
  used: number
}

/** The space of an unfinished upload, so that uploads that begin meanwhile leave this space free. */
export interface UploadClaimTable {
  id: Generated<number>
  owner_id: Fixed<number>
  /** The largest possible size of its file. It grows during an upload without an announced size. */
  bytes: number
  /** How many of these bytes were on the disk at the last look. */
  written: number
  /** In milliseconds. If a claim is not touched any more, its node is gone. */
  touched_at: number
}

/** The uploads of jobs, by file field. */
export interface JobFileTable {
  job_id: Fixed<number>
  field: Fixed<string>
  upload_id: Fixed<number>
}

/** One row for each role that may give the approval that a job waits for. There are rows only while the job waits. */
export interface AwaitedApprovalTable {
  role: Fixed<string>
  job_id: Fixed<number>
  /** 1: the user who launched the job may give it, too. */
  allow_self: Fixed<number>
  /** The user who launched the job. So a query for the approvals of somebody need not read jobs. */
  user_id: Fixed<number | null>
  user_name: Fixed<string>
  user_type: Fixed<UserType>
}

/** A parent job. */
export interface JobSequenceTable {
  job_id: Fixed<number>
  /** Goes up with every step, so that two control planes never do the same step. */
  version: number
  /** JSON: the steps or nodes as they were at the launch. */
  plan: Fixed<string>
}

/** The state of a step or node of a sequence. */
export interface SequenceNodeTable {
  job_id: Fixed<number>
  /** 1, 2, 3 … as written. */
  position: Fixed<number>
  /** Name of the step, identifier of the node. */
  identifier: Fixed<string>
  status: NodeStatus
  subjob_id: number | null
  start_time: number | null
  end_time: number | null
  /** Why it failed or did not run; for a running one, what it waits for. */
  reason: string | null
  /** JSON: the approval that it asks for or has got. */
  approval: string | null
  /** Until when its approval may be given, by the service clock; null: for ever. */
  due_time: number | null
  /** JSON object: the data that it passes on. */
  artifacts: string | null
}

/**
 * One row: a clock that counts only while a control plane works and reaches the database (`nodes/service-clock.ts`).
 */
export interface ServiceClockTable {
  id: Fixed<number>
  /** Milliseconds since an origin that is later than any wall clock. */
  time: number
  /** Goes up with every move, so that no time counts twice. */
  turn: number
}

/** At most one row. It tells this database from a restored earlier state of it. */
export interface DatabaseIdTable {
  row: Fixed<number>
  /** Random. A backup does not have it, so a restored database gets a new one. */
  id: Fixed<string>
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

/**
 * What a schedule does about a start that was missed because no control plane worked: start once when one works again,
 * or not.
 */
export const MISSED_RUNS = ['run', 'skip'] as const

/** One of {@link MISSED_RUNS}. */
export type MissedRuns = (typeof MISSED_RUNS)[number]

/** Launches at given times. Either `cron` or `once_at` is set. */
export interface ScheduleTable {
  id: Generated<number>
  name: string
  form: string
  cron: string | null
  /** The name of the time zone in which `cron` counts, such as `Europe/Berlin`. */
  time_zone: string
  once_at: number | null
  missed: MissedRuns
  paused: number
  /** The account that made it, and whose rights its launches have. */
  user_id: Fixed<number>
  user_name: Fixed<string>
  user_type: Fixed<UserType>
  /** JSON object: the field values. There is never a password among them. */
  form_values: string
  /** JSON object: names of credentials. */
  credentials: string
  verbose: number
  /** Goes up with every change and every start. A start counts only if the version is still the one that was read. */
  turn: number
  /** The next start; null: there is no further start. */
  next_at: number | null
  /** The last start, or the last one that was refused. */
  last_at: number | null
  last_job_id: number | null
  /** Why the last start was refused; null: it was not refused. */
  last_problem: string | null
  created_at: Fixed<number>
}

/** The web addresses to which webhooks go. */
export interface NotificationTargetTable {
  id: Generated<number>
  name: Fixed<string>
  url: string
  /** The secret that signs the webhooks. It is encrypted and bound to the name of the target. */
  secret: Buffer
  /** JSON array of names of events. */
  events: string
  enabled: number
  created_at: Fixed<number>
  created_by: Fixed<string>
}

/**
 * An event that notifications have to tell. The row is written with the change, and removed when its deliveries are
 * stored.
 */
export interface NotificationEventTable {
  id: Generated<number>
  kind: Fixed<string>
  at: Fixed<number>
  /** JSON: the job or the runner at the time of the event (`notification-events.ts`). */
  data: Fixed<string>
}

/** The states of a delivery. */
export const DELIVERY_STATES = ['waiting', 'sent', 'failed'] as const
/** One of {@link DELIVERY_STATES}. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** A message to one target or one mail address. */
export interface NotificationDeliveryTable {
  id: Generated<number>
  /** The id that receivers see. It is the same in each attempt. */
  uid: Fixed<string>
  /** `mail`, or `webhook:` with the target. A slow lane does not delay the others. */
  lane: Fixed<string>
  /** Null: a mail. */
  target_id: Fixed<number | null>
  /** Name of the target, or the mail address. */
  recipient: Fixed<string>
  event: Fixed<string>
  event_at: Fixed<number>
  job_id: Fixed<number | null>
  /** The subject of a mail; null: a webhook. */
  subject: Fixed<string | null>
  /** JSON of a webhook, text of a mail. */
  body: Fixed<string>
  state: DeliveryState
  attempts: number
  /** When the next attempt is due; null: it has ended. */
  next_at: number | null
  /** The attempt that has it now, and until when no other attempt takes it. */
  lease: string | null
  lease_until: number | null
  /** Why the last attempt failed. */
  problem: string | null
  created_at: Fixed<number>
  ended_at: number | null
}
