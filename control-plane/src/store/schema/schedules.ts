import type { Generated } from 'kysely'
import type { UserType } from '../../words/user-type.js'
import type { Fixed } from './fixed.js'

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
