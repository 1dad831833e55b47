import { createHash } from 'node:crypto'
import type { Caller } from '../../auth/sessions/caller.js'
import { findTransitions } from '../../store/jobs/job-details.js'
import { findJob } from '../../store/jobs/jobs.js'
import { connectionsFor } from '../read/connected.js'
import { type JobPage, type ListRequest, readJobs } from '../read/reading.js'
import { isFinalStatus, jobStatusOf } from '../record/status.js'
import { type JobDetailDependencies, shownEstimate } from './detail.js'
import { placeOf } from './place.js'

/** Most jobs of a list of which it is told where they are: each takes several reads. They are the newest ones. */
const MOST_PLACES = 20

type Dependencies = Pick<JobDetailDependencies, 'reading' | 'courses' | 'estimates' | 'clock'>

/** A list as {@link readJobs} gives it. Of the newest jobs that have not ended it also says where they are, and what is left. */
export async function readJobsWithPlaces(
  dependencies: Dependencies,
  caller: Caller,
  request: ListRequest,
): Promise<JobPage> {
  const { pages, next, tag } = await readJobs(dependencies.reading, caller, request)
  const records = [...pages].flat()
  const open = records.filter(({ status }) => !isFinalStatus(status)).slice(0, MOST_PLACES)
  const places = new Map<number, Awaited<ReturnType<typeof whereIs>>>()
  for (const { id } of open) places.set(id, await whereIs(dependencies, id))
  const told = records.map((record) => ({ ...record, ...(places.get(record.id) ?? { place: null, estimate: null }) }))
  const mark = createHash('sha256').update(JSON.stringify([...places]))
  return { pages: [told], next, tag: tag === null ? null : mark.update(tag).digest('base64url') }
}

async function whereIs({ reading, courses, estimates, clock }: Dependencies, id: number) {
  const { queries } = reading
  const job = await findJob(queries, id)
  // It may have ended or been deleted since the list was read.
  if (!job || isFinalStatus(jobStatusOf(job.status))) return { place: null, estimate: null }
  const connections = await connectionsFor(reading.runners, [job])
  const since = (await findTransitions(queries, id)).at(-1)?.time ?? job.start_time
  return {
    place: await placeOf({ queries, courses, now: () => clock.now() }, job, { connections, since }),
    estimate: shownEstimate(await estimates.recentOf(job)),
  }
}
