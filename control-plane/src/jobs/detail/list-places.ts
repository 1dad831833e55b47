import { createHash } from 'node:crypto'
import type { Caller } from '../../auth/sessions/caller.js'
import { writtenRecords } from '../../ground/written-records.js'
import { findBeginTimes } from '../../store/jobs/job-stages.js'
import { findJob } from '../../store/jobs/jobs.js'
import { isoTime } from '../../time/clock.js'
import { type JobPage, type ListRequest, MAX_TAGGED, readRecords, recordsTag } from '../read/reading.js'
import { isFinalStatus, jobStatusOf } from '../record/status.js'
import { type JobDetailDependencies, shownEstimate } from './detail.js'
import { placeOf } from './place.js'

/**
 * For how many jobs of a list, the newest ones, the list says where they are. There is a limit, because each of them
 * takes several reads.
 */
const MAX_PLACES = 20

type Dependencies = Pick<JobDetailDependencies, 'reading' | 'courses' | 'estimates' | 'clock'>

/**
 * The jobs that the caller may see, newest first, each with the time when it began. For the newest of them that have not
 * ended the list also says where they are, and how much time is left.
 */
export async function readJobsWithPlaces(
  dependencies: Dependencies,
  caller: Caller,
  request: ListRequest,
): Promise<JobPage> {
  const { records: found, next } = await readRecords(dependencies.reading, caller, request)
  const records = found.part(0, found.count)
  const open = records.filter(({ status }) => !isFinalStatus(status)).slice(0, MAX_PLACES)
  const places = new Map<number, Awaited<ReturnType<typeof whereIs>>>()
  for (const { id } of open) places.set(id, await whereIs(dependencies, id))
  const began = await findBeginTimes(
    dependencies.reading.queries,
    records.map(({ id }) => id),
  )
  const placed = records.map((record) => ({
    ...record,
    began: isoTime(began.get(record.id) ?? null),
    ...(places.get(record.id) ?? { place: null, estimate: null }),
  }))
  const mark = createHash('sha256').update(JSON.stringify([[...places].map(unmoving), [...began]]))
  const portions = [writtenRecords(placed)]
  if (records.length > MAX_TAGGED) return { portions, next, tag: null }
  return { portions, next, tag: mark.update(recordsTag([writtenRecords(records)])).digest('base64url') }
}

/** What of a place makes the list another one: the end of a wait does not, because it is an estimate that moves by itself. */
function unmoving([id, { place, estimate }]: [number, Awaited<ReturnType<typeof whereIs>>]) {
  return [id, place && { ...place, until: place.until !== null }, estimate]
}

async function whereIs({ reading, courses, estimates, clock }: Dependencies, id: number) {
  const { queries } = reading
  const job = await findJob(queries, id)
  // The job may have ended or been deleted since the list was read.
  if (!job || isFinalStatus(jobStatusOf(job.status))) return { place: null, estimate: null }
  return {
    place: await placeOf({ queries, courses, runners: reading.runners, now: () => clock.now() }, job),
    estimate: shownEstimate(await estimates.recentOf(job)),
  }
}
