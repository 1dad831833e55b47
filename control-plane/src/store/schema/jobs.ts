import type { ColumnType, Generated } from 'kysely'
import type { Dispatch } from '../../words/job-dispatch.js'
import type { PlaceState } from '../../words/job-stage.js'
import type { JobStatus } from '../../words/job-status.js'
import type { JobType } from '../../words/job-type.js'
import type { UserType } from '../../words/user-type.js'
import type { Fixed } from './fixed.js'

/** The jobs. */
export interface JobTable {
  id: Generated<number>
  run_id: Fixed<string>
  form: Fixed<string>
  target: string
  job_type: Fixed<JobType>
  status: JobStatus
  status_reason: string | null
  /** Facts that the status does not tell, such as "no structured events". */
  detail: string | null
  start_time: Fixed<number>
  end_time: number | null
  /**
   * The account that launched it, also after the account is gone. Null: nobody, or an account that is not known here, as
   * in an adopted job.
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
  parent_id: number | null
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
  password_fields: string
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
  schedule_id: ColumnType<number | null, number | null | undefined, number | null>
  /** The name that the schedule had then. */
  schedule_name: ColumnType<string | null, string | null | undefined, string | null>
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
  notifications: ColumnType<string | null, string | null | undefined, string | null>
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

/** The run of a deleted job. It is kept for a while, because its runner may still name it. */
export interface PastRunTable {
  run_id: Fixed<string>
  /** `stored`: its end was stored. `asked`: a person deleted it before that. */
  how: Fixed<'stored' | 'asked'>
  deleted_at: Fixed<number>
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
