import type { Caller } from '../../auth/sessions/caller.js'
import { type Clock, isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { findStreams, findTransitions } from '../../store/jobs/job-details.js'
import { findJob, type JobRow } from '../../store/jobs/jobs.js'
import type { Courses } from '../course/courses.js'
import type { Estimate } from '../course/estimate.js'
import type { LaunchDependencies } from '../launch/launch.js'
import type { OutputIndexes } from '../read/output-index.js'
import { type JobReading, type OutputForm, readJob } from '../read/reading.js'
import { jobStatusOf, isFinalStatus } from '../record/status.js'
import { isSequence } from '../record/sequence-port.js'
import { actionsOf } from './can.js'
import type { Estimates } from './estimates.js'
import { placeOf, type Place } from './place.js'
import { runsOn } from './runs-on.js'
import { findBeginTimes, findStages } from '../../store/jobs/job-stages.js'
import type { Queries } from '../../store/store.js'

/** What a page that shows one job needs of other parts. */
export interface JobDetailDependencies {
  readonly reading: JobReading
  readonly launching: LaunchDependencies
  readonly courses: Courses
  readonly indexes: OutputIndexes
  readonly estimates: Estimates
  readonly clock: Clock
}

/**
 * A job as {@link readJob} shows it. Without output it also says what a page shows of a job: what the caller may do,
 * where the job is or will run, how it came there, how long its streams are, and whether they are whole.
 * @throws NotFoundError, ForbiddenError
 */
export async function readJobDetail(dependencies: JobDetailDependencies, caller: Caller, id: number, form: OutputForm) {
  const { reading, launching, courses, indexes, estimates, clock } = dependencies
  const { job, output } = await readJob(reading, caller, id, form)
  if (form !== 'none') return { job, output }
  const { queries } = reading
  const row = await findJob(queries, id)
  if (!row) throw new NotFoundError('job_not_found', `There is no job ${id}`)
  const transitions = await findTransitions(queries, id)
  const streams = await findStreams(queries, id)
  const length = streams?.shown_length ?? 0
  const place = await placeOf({ queries, courses, runners: reading.runners, now: () => clock.now() }, row)
  const details = {
    can: await actionsOf(launching, caller, row),
    began: isoTime((await findBeginTimes(queries, [id])).get(id) ?? null),
    place,
    runs_on: await runsOn({ queries, sequences: launching.sequences }, row),
    time_limit:
      row.time_limit_ms === null
        ? null
        : { seconds: row.time_limit_ms / 1000, used_seconds: Math.floor(row.ran_ms / 1000) },
    estimate: shownEstimate(await estimates.of(row)),
    history: transitions.map(({ time, from_status: from, to_status: to, reason }) => ({
      time: isoTime(time),
      from,
      to,
      reason,
    })),
    stages: await stagesOf(queries, row, place),
    streams: {
      output: { bytes: length, lines: await indexes.linesOf(id), generation: streams?.generation ?? 0 },
      events: { count: streams?.events_count ?? 0 },
    },
    integrity: isSequence(row)
      ? null
      : {
          state: isFinalStatus(jobStatusOf(row.status)) ? (streams?.integrity ?? null) : ('growing' as const),
          output_sha256: streams?.output_sha256 ?? null,
          events_sha256: streams?.events_sha256 ?? null,
          verified_at: isoTime(streams?.verified_at ?? null),
        },
  }
  return { job: { ...job, ...details }, output }
}

/** In seconds, as the interface tells it. */
export function shownEstimate(estimate: Estimate | null) {
  if (estimate === null) return null
  const { progress, leftMs, shortestMs, longestMs, runs } = estimate
  const seconds = (ms: number): number => Math.round(ms / 1000)
  // Rounded down, apart from rounding errors of the sums. So an unfinished run never counts as complete.
  const shown = Math.floor(progress * 100 + 1e-6) / 100
  return {
    progress: shown,
    left_seconds: seconds(leftMs),
    shortest_seconds: seconds(shortestMs),
    longest_seconds: seconds(longestMs),
    runs,
  }
}

/**
 * Where a job was from its launch on, in order of time. An absence of its runner, `lost`, does not end the stage in
 * which the job is. It begins with the last sign of life that was stored, because nobody knows more.
 * @param place where the job is now
 */
async function stagesOf(queries: Queries, job: JobRow, place: Place | null) {
  const rows = await findStages(queries, job.id)
  const moves = rows.filter(({ state }) => state !== 'lost')
  // An abandoned job may still be at its runner.
  const end = job.dispatch === 'done' ? job.end_time : null
  const stages = moves.map(({ state, since }, at) => ({ state, since, until: moves[at + 1]?.since ?? end }))
  const claimed = moves.findLast(({ state }) => state === 'claimed')?.since ?? job.start_time
  const absences = rows.filter(({ state }) => state === 'lost')
  const seen = place?.state === 'lost' ? place.runner?.last_seen : null
  if (seen) absences.push({ state: 'lost', since: Date.parse(seen), until: null })
  // The runner may have taken the job after its last heartbeat.
  const lost = absences.map((absence) => ({ ...absence, since: Math.max(absence.since, claimed) }))
  return [...stages, ...lost]
    .sort((one, other) => one.since - other.since)
    .map(({ state, since, until }) => ({ state, since: isoTime(since), until: isoTime(until) }))
}
