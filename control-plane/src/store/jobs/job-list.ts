import { type SelectQueryBuilder, sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { selectAsJson } from '../sql/json-sql.js'
import type { Database } from '../schema.js'
import type { Queries } from '../store.js'
import { JOB_STATUSES, type JobStatus } from '../../words/job-status.js'
import { JOB_TYPES } from '../../words/job-type.js'
import { USER_TYPES, type UserType } from '../../words/user-type.js'

const textOrNull = Type.Union([Type.String(), Type.Null()])
const numberOrNull = Type.Union([Type.Integer(), Type.Null()])

/** The columns of a list record: everything that a list shows, without the long texts. */
const listColumns = {
  id: Type.Integer(),
  form: Type.String(),
  target: Type.String(),
  job_type: Type.Enum(JOB_TYPES),
  status: Type.Enum(JOB_STATUSES),
  status_reason: textOrNull,
  detail: textOrNull,
  start_time: Type.Integer(),
  end_time: numberOrNull,
  user_name: Type.String(),
  user_type: Type.Enum(USER_TYPES),
  runner_id: numberOrNull,
  runner_name: textOrNull,
  parent_id: numberOrNull,
  step: textOrNull,
  approval: textOrNull,
  abort_requested: Type.Integer(),
  abandoned_at: numberOrNull,
  run_id: Type.String(),
  adopted_at: numberOrNull,
  schedule_id: numberOrNull,
  schedule_name: textOrNull,
  held_epoch: numberOrNull,
}
const COLUMNS = Object.keys(listColumns) as (keyof typeof listColumns)[]
const JobListRow = Type.Object(listColumns)
/** Jobs that are read at once. More would delay other requests. */
const JOBS_PER_READ = 1000

const jobList = Compile(Type.Array(JobListRow))

/** The columns of a job in a list, checked. */
export type JobListRow = Readonly<Static<typeof JobListRow>>

/** Which jobs are wanted. A filter that is left out does not limit them. */
export interface JobFilter {
  readonly user?: { readonly name: string; readonly type: UserType }
  /** Only jobs that this runner had: it said at least once that it has them. */
  readonly runner?: string
  /** Only jobs of one account, in addition to the other filters. */
  readonly visibleTo?: { readonly id: number; readonly name: string; readonly type: UserType }
  /** Only jobs with a lower id. */
  readonly before?: number
  /** Only jobs with one of these statuses. */
  readonly statuses?: readonly JobStatus[]
  readonly form?: string
  /** Only jobs that have this text in their form, target, user, runner or reason, or as their number. */
  readonly text?: string
  /** False leaves the child jobs out. */
  readonly parts?: boolean
  /** Only jobs that started from this time on and before that one, in milliseconds since the epoch. */
  readonly startedFrom?: number
  readonly startedBefore?: number
}

type JobQuery = SelectQueryBuilder<Database, 'job', object>

/** Newest first, at most `limit`. Every form of the filter uses an index in this order. */
export async function listJobs(queries: Queries, filter: JobFilter, limit: number): Promise<JobListRow[]> {
  const { visibleTo, user, runner } = filter
  if (visibleTo && user && (user.name !== visibleTo.name || user.type !== visibleTo.type)) return []
  let query: JobQuery = queries.selectFrom('job')
  // An account never changes its name, so its id is enough.
  if (visibleTo) query = query.where('user_id', '=', visibleTo.id)
  else if (user) query = query.where('user_type', '=', user.type).where('user_name', '=', user.name)
  if (runner !== undefined) query = query.where('runner_name', '=', runner).where('held_epoch', 'is not', null)
  return newestJobs(queries, narrowed(query, filter), limit)
}

/** The columns in which a text is looked for. */
const TEXT_COLUMNS = ['form', 'target', 'user_name', 'runner_name', 'status_reason'] as const

/** Applies a filter to a query. It does not check who may see the jobs. */
export function narrowed(query: JobQuery, filter: JobFilter): JobQuery {
  const { before, statuses, form, text, parts, startedFrom, startedBefore } = filter
  let rest = query
  if (before !== undefined) rest = rest.where('id', '<', before)
  if (statuses) rest = rest.where('status', 'in', statuses)
  if (form !== undefined) rest = rest.where('form', '=', form)
  if (parts === false) rest = rest.where('parent_id', 'is', null)
  if (startedFrom !== undefined) rest = rest.where('start_time', '>=', startedFrom)
  if (startedBefore !== undefined) rest = rest.where('start_time', '<', startedBefore)
  if (text === undefined) return rest
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const id = /^#?(\d{1,15})$/.exec(text)?.[1]
  return rest.where((job) =>
    job.or([
      ...TEXT_COLUMNS.map((column) => sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`),
      ...(id === undefined ? [] : [job('id', '=', Number(id))]),
    ]),
  )
}

/**
 * The jobs of a query, newest first, at most `limit`. A list that consists of several parts runs one such query for
 * each part. One query with `or` between the parts would make SQLite read and sort all jobs of a user, or all jobs.
 * @param query narrowed from the table of jobs, without columns and order
 * @throws Error when the rows are not what this release writes
 */
export async function newestJobs(queries: Queries, query: JobQuery, limit: number): Promise<JobListRow[]> {
  const jobs: JobListRow[] = []
  while (jobs.length < limit) {
    const page = Math.min(limit - jobs.length, JOBS_PER_READ)
    const last = jobs.at(-1)
    const rest = last ? query.where('id', '<', last.id) : query
    const rows = await selectAsJson(queries, rest.select(COLUMNS).orderBy('id', 'desc').limit(page), COLUMNS)
    if (!jobList.Check(rows)) {
      const [problem] = jobList.Errors(rows)
      throw new Error(`a job in the database is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`)
    }
    jobs.push(...rows.sort((one, other) => other.id - one.id))
    if (rows.length < page) break
  }
  return jobs
}
