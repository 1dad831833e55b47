import type { AgeLimit } from '@holdfast/host/age-limit'
import { OPEN_STATUSES } from '../../words/job-status.js'
import { sql } from 'kysely'
import type { Queries } from '../store.js'

/** An ended job, and the size of what is stored of it. */
export interface EndedJob {
  readonly id: number
  readonly events: number
  readonly outputBytes: number
}

/** Parent jobs and single jobs that ended before a time, first the ones that ended first. Child jobs are not listed. */
export function endedJobs(queries: Queries, before: AgeLimit, limit: number): Promise<EndedJob[]> {
  return (
    queries
      .selectFrom('job')
      .innerJoin('job_stream', 'job_stream.job_id', 'job.id')
      .select(['job.id', 'job_stream.events_count as events', 'job_stream.shown_length as outputBytes'])
      .where('job.end_time', '<', before)
      .where('job.status', 'not in', OPEN_STATUSES)
      // Without this, SQLite would choose the wrong index and read every job without a parent.
      .where(sql<boolean>`coalesce(job.parent_id, 0) = 0`)
      .orderBy('job.end_time')
      .limit(limit)
      .execute()
  )
}
