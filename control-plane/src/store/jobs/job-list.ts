import { type SelectQueryBuilder, sql } from 'kysely'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { selectAsJson } from '../sql/json-sql.js'
import type { Database } from '../schema.js'
import type { Queries } from '../store.js'
import type { JobStatus } from '../../words/job-status.js'
import type { UserType } from '../../words/user-type.js'
import { type FilterName, JOB_FILTERS, type JobListRow, LIST_COLUMNS, SEARCHED_COLUMNS } from './job-fields.js'

const COLUMNS = Object.keys(LIST_COLUMNS) as (keyof typeof LIST_COLUMNS)[]
/** Jobs that are read at once. More would delay other requests. */
const JOBS_PER_READ = 1000

const makeListCheck = () => Compile(Type.Array(Type.Object(LIST_COLUMNS)))
/** Made for the first list. */
let listCheck: ReturnType<typeof makeListCheck> | null = null

/** Which jobs are wanted, from the query of a request to SQL. What is undefined does not limit them. */
export interface JobFilter {
  readonly user?: { readonly name: string; readonly type: UserType } | undefined
  /** Only jobs that this runner had: it said at least once that it has them. */
  readonly runner?: string | undefined
  /** Only jobs of one account, in addition to the other filters. */
  readonly visibleTo?: { readonly id: number; readonly name: string; readonly type: UserType } | undefined
  /** Only jobs with a lower id. It is `next` of the page before. */
  readonly before?: number | undefined
  /** Only jobs with one of these statuses. */
  readonly statuses?: readonly JobStatus[] | undefined
  /** True: only jobs that are to run and that no runner has yet. False: all but these. */
  readonly queued?: boolean | undefined
  /** Only jobs with these values of fields. */
  readonly values?: { readonly [Name in FilterName]?: string | undefined }
  /** Only jobs that have this text in a field that is searched, or as their number. */
  readonly text?: string | undefined
  /** False leaves the child jobs out. */
  readonly parts?: boolean | undefined
  /** Only jobs that started from this time on and before that one, in milliseconds since the epoch. */
  readonly startedFrom?: number | undefined
  readonly startedBefore?: number | undefined
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

/** Applies a filter to a query. It does not check who may see the jobs. */
export function narrowed(query: JobQuery, filter: JobFilter): JobQuery {
  const { before, statuses, queued, values = {}, text, parts, startedFrom, startedBefore } = filter
  let rest = query
  if (before !== undefined) rest = rest.where('id', '<', before)
  if (statuses) rest = rest.where('status', 'in', statuses)
  if (queued !== undefined) {
    rest = rest.where((job) => {
      const isQueued = job.and([job('status', '=', 'running'), job('dispatch', 'in', ['parked', 'queued', 'offered'])])
      return queued ? isQueued : job.not(isQueued)
    })
  }
  for (const name of Object.keys(JOB_FILTERS) as FilterName[]) {
    const value = values[name]
    if (value !== undefined) rest = rest.where(JOB_FILTERS[name].column, '=', value)
  }
  if (parts === false) rest = rest.where('parent_id', 'is', null)
  if (startedFrom !== undefined) rest = rest.where('start_time', '>=', startedFrom)
  if (startedBefore !== undefined) rest = rest.where('start_time', '<', startedBefore)
  if (text === undefined) return rest
  const pattern = `%${text.replace(/[\\%_]/g, '\\$&')}%`
  const id = /^#?(\d{1,15})$/.exec(text)?.[1]
  return rest.where((job) =>
    job.or([
      ...SEARCHED_COLUMNS.map((column) => sql<boolean>`lower(${sql.ref(column)}) like lower(${pattern}) escape '\\'`),
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
    requireRows(rows)
    jobs.push(...rows.sort((one, other) => other.id - one.id))
    if (rows.length < page) break
  }
  return jobs
}

function requireRows(rows: unknown): asserts rows is JobListRow[] {
  const jobList = (listCheck ??= makeListCheck())
  if (jobList.Check(rows)) return
  const [problem] = jobList.Errors(rows)
  throw new Error(`a job in the database is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`)
}
