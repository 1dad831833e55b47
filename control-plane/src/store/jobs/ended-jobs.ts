import { sql } from 'kysely'
import type { Queries } from '../store.js'

/** An ended job and how much is stored of it. */
export interface EndedJob {
  readonly id: number
  readonly events: number
  readonly outputBytes: number
}

/** Jobs that ended before a time, those that ended first before the others; not those that are parts of another. */
export function endedJobs(queries: Queries, before: number, limit: number): Promise<EndedJob[]> {
  return (
    queries
      .selectFrom('job')
      .innerJoin('job_stream', 'job_stream.job_id', 'job.id')
      .select(['job.id', 'job_stream.events_count as events', 'job_stream.shown_length as outputBytes'])
      .where('job.end_time', '<', before)
      .where('job.status', 'not in', ['running', 'approve'])
      // By itself SQLite would take this for the narrower condition, and read every job that is no part.
      .where(sql<boolean>`coalesce(job.parent_id, 0) = 0`)
      .orderBy('job.end_time')
      .limit(limit)
      .execute()
  )
}
