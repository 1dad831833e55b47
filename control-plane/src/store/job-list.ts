import type { SelectQueryBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { selectAsJson } from './json-rows.js'
import type { Database } from './schema.js'
import type { Queries } from './store.js'

const textOrNull = Type.Union([Type.String(), Type.Null()])
const numberOrNull = Type.Union([Type.Integer(), Type.Null()])

/** The columns of a list record: what people see of a job without its long texts. */
const listColumns = {
  id: Type.Integer(),
  form: Type.String(),
  target: Type.String(),
  job_type: Type.String(),
  status: Type.String(),
  status_reason: textOrNull,
  detail: textOrNull,
  start_time: Type.Integer(),
  end_time: numberOrNull,
  user_name: Type.String(),
  user_type: Type.String(),
  runner_name: textOrNull,
  parent_id: numberOrNull,
  step: textOrNull,
  approval: textOrNull,
  abort_requested: Type.Integer(),
  abandoned_at: numberOrNull,
}
const COLUMNS = Object.keys(listColumns) as (keyof typeof listColumns)[]
const JobListRow = Type.Object(listColumns)
const jobList = Compile(Type.Array(JobListRow))

export type JobListRow = Readonly<Static<typeof JobListRow>>

export interface JobFilter {
  readonly user?: { readonly name: string; readonly type: string }
  readonly runner?: string
  /** Limits the list to the jobs of one user, whatever else is asked for. */
  readonly visibleTo?: { readonly name: string; readonly type: string }
}

type JobQuery = SelectQueryBuilder<Database, 'job', object>

/** Newest first, at most `limit`. Every form of the filter is answered from an index that has its order. */
export async function listJobs(queries: Queries, filter: JobFilter, limit: number): Promise<JobListRow[]> {
  const lists = await Promise.all(
    visibleParts(filter).map((narrow) => listPart(queries, narrow(filtered(queries, filter)), limit)),
  )
  // A job may be in several parts, and move from one into another while they are read.
  const jobs = new Map(lists.flat().map((job) => [job.id, job]))
  return [...jobs.values()].sort((one, other) => other.id - one.id).slice(0, limit)
}

/**
 * What the list is put together from. Each part is read newest first from an index of its own and cut to the limit: as
 * one query, with `or` between the parts, it would read and sort every job of a user, or every job.
 */
function visibleParts({ visibleTo }: JobFilter): ((query: JobQuery) => JobQuery)[] {
  if (!visibleTo) return [(query) => query]
  return [(query) => ofUser(query, visibleTo)]
}

function filtered(queries: Queries, { user, runner }: JobFilter): JobQuery {
  let query: JobQuery = queries.selectFrom('job')
  if (user) query = ofUser(query, user)
  if (runner !== undefined) query = query.where('runner_name', '=', runner)
  return query
}

function ofUser(query: JobQuery, user: { readonly name: string; readonly type: string }): JobQuery {
  return query.where('user_type', '=', user.type).where('user_name', '=', user.name)
}

/** @throws Error when the rows are not what this release writes */
async function listPart(queries: Queries, query: JobQuery, limit: number): Promise<JobListRow[]> {
  const rows = await selectAsJson(queries, query.select(COLUMNS).orderBy('id', 'desc').limit(limit), COLUMNS)
  if (!jobList.Check(rows)) {
    const [problem] = jobList.Errors(rows)
    throw new Error(`a job in the database is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`)
  }
  return rows
}
