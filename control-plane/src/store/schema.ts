import type {
  KnownNetworkTable,
  PastNameTable,
  SessionTable,
  SignInCodeTable,
  SignInFailureTable,
  UserTable,
} from './schema/accounts.js'
import type { AuditChainTable, AuditExportTable, AuditTable } from './schema/audit.js'
import type {
  JobEventTable,
  JobOutputBlockTable,
  JobOutputMarkTable,
  JobOutputTable,
  JobStreamTable,
} from './schema/job-streams.js'
import type {
  AwaitedApprovalTable,
  JobFileTable,
  JobSecretTable,
  JobStageTable,
  JobTable,
  JobTransitionTable,
  PastRunTable,
} from './schema/jobs.js'
import type {
  NotificationDeliveryTable,
  NotificationEventTable,
  NotificationTargetTable,
} from './schema/notifications.js'
import type { JoinTokenTable, OrphanTable, RunnerAddressTable, RunnerTable, ServiceKeyTable } from './schema/runners.js'
import type { ScheduleTable } from './schema/schedules.js'
import type { JobSequenceTable, SequenceNodeTable } from './schema/sequences.js'
import type {
  AppearanceTable,
  CredentialTable,
  DatabaseIdTable,
  LockTable,
  NodeTable,
  ServiceClockTable,
  ShownTimeTable,
} from './schema/service.js'
import type { UploadClaimTable, UploadTable } from './schema/uploads.js'

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
  shown_time: ShownTimeTable
  database_id: DatabaseIdTable
  schedule: ScheduleTable
  notification_target: NotificationTargetTable
  notification_event: NotificationEventTable
  notification_delivery: NotificationDeliveryTable
}
