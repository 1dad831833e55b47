import { moveJob } from '../../store/jobs/jobs.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Queries } from '../../store/store.js'
import type { JobOutcome } from './outcome.js'
import { statusesBefore } from '../record/status.js'

/** Ends a job with its real outcome, inside a write. Returns false when the job had already ended. */
export function endJob(queries: Queries, jobId: number, outcome: JobOutcome, now: number): Promise<boolean> {
  return moveJob(queries, jobId, {
    from: statusesBefore(outcome.status),
    to: outcome.status,
    time: now,
    reason: outcome.reason,
    detail: outcome.detail,
    changes: { end_time: now, dispatch: 'done', wait_until: null },
  })
}

/** Ends a job that never ran as failed, and writes the reason into its output. */
export async function failJob(queries: Queries, jobId: number, reason: string, now: number): Promise<boolean> {
  const ended = await endJob(queries, jobId, { status: 'failed', reason, detail: null }, now)
  if (ended) await appendServiceLine(queries, jobId, `[ERROR]: ${reason}`)
  return ended
}

/** Ends a job that never started as aborted. */
export async function abortUnstarted(
  queries: Queries,
  jobId: number,
  by: string | null,
  now: number,
): Promise<boolean> {
  const reason = by === null ? 'aborted before it started' : `aborted by ${by} before it started`
  const ended = await endJob(queries, jobId, { status: 'aborted', reason, detail: null }, now)
  if (ended) await appendServiceLine(queries, jobId, `[WARNING]: ${reason}`)
  return ended
}

/**
 * Marks a job as abandoned: nobody follows it any more. What its runner sends later is still stored, and the real
 * outcome replaces this status.
 */
export function abandonJob(queries: Queries, jobId: number, reason: string, now: number): Promise<boolean> {
  return moveJob(queries, jobId, {
    from: statusesBefore('abandoned'),
    to: 'abandoned',
    time: now,
    reason,
    changes: { end_time: now, abandoned_at: now },
  })
}
