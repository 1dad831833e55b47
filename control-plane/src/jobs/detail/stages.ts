import { isoTime } from '../../time/clock.js'
import { findStages } from '../../store/jobs/job-stages.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import type { Queries } from '../../store/store.js'
import type { Place } from './place.js'

/**
 * Where a job was from its launch on, in order of time. An absence of its runner, `lost`, does not end the stage in
 * which the job is. It begins with the last sign of life that was stored, because nobody knows more.
 * @param place where the job is now
 */
export async function stagesOf(queries: Queries, job: JobRow, place: Place | null) {
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
