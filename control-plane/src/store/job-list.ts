import type { SelectQueryBuilder } from 'kysely'
import { type Static, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { selectAsJson } from './json-sql.js'
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

type User = NonNullable<JobFilter['user']>
type JobQuery = SelectQueryBuilder<Database, 'job', object>

/** Newest first, at most `limit`. Every form of the filter is answered from an index that has its order. */
export async function listJobs(queries: Queries, filter: JobFilter, limit: number): Promise<JobListRow[]> {
  const parts = await Promise.all(visibleParts(queries, filter).map((part) => readPart(queries, part, filter, limit)))
  // A job may be in several parts, and move from one into another while they are read.
  const jobs = new Map(parts.flat().map((job) => [job.id, job]))
  return [...jobs.values()].sort((one, other) => other.id - one.id).slice(0, limit)
}

/**
 * What the list is put together from. Each part is read newest first from an index of its own and cut to the limit: as
 * one query, with `or` between the parts, it would read and sort every job of a user, or every job.
 */
function visibleParts(queries: Queries, { user, visibleTo }: JobFilter): JobQuery[] {
  const all: JobQuery = queries.selectFrom('job')
  if (!visibleTo) return [user ? ofUser(all, user) : all]
  const asksForOthers = user && (user.name !== visibleTo.name || user.type !== visibleTo.type)
  return asksForOthers ? [] : [ofUser(all, visibleTo)]
}

function ofUser(query: JobQuery, user: User): JobQuery {
  return query.where('user_type', '=', user.type).where('user_name', '=', user.name)
}

/** @throws Error when the rows are not what this release writes */
async function readPart(queries: Queries, part: JobQuery, { runner }: JobFilter, limit: number): Promise<JobListRow[]> {
  const narrowed = runner === undefined ? part : part.where('runner_name', '=', runner)
  const rows = await selectAsJson(queries, narrowed.select(COLUMNS).orderBy('id', 'desc').limit(limit), COLUMNS)
  if (!jobList.Check(rows)) {
    const [problem] = jobList.Errors(rows)
    throw new Error(`a job in the database is not readable: ${problem?.instancePath ?? ''} ${problem?.message ?? ''}`)
  }
  return rows
}
