import { isoTime } from '../../time/clock.js'
import { countQueuedBefore, findTransitions } from '../../store/jobs/job-details.js'
import { findPlaceHolders, findPlaceWaiters } from '../../store/jobs/places.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import { findRunner } from '../../store/runners/runners.js'
import { readServiceTime } from '../../store/service/service-clock.js'
import type { Queries } from '../../store/store.js'
import type { Course } from '../course/course.js'
import type { Courses } from '../course/courses.js'
import { type Connections, type RunnerPresence, isConnected } from '../read/connected.js'
import type { PlaceState } from '../../words/job-stage.js'
import { isFinalStatus, jobStatusOf } from '../record/status.js'

/** Most tasks that are listed, and most names of hosts for each of them. */
const MAX_TASKS = 20
const MAX_HOSTS = 20

/** What this needs of other parts. */
export interface PlaceDependencies {
  readonly queries: Queries
  readonly courses: Courses
  readonly runners: RunnerPresence
  readonly now: () => number
}

/** Where a job is now. */
export type Place = NonNullable<Awaited<ReturnType<typeof placeOf>>>

/** Where a job is now, and since when; null when its final status is stored. Times are ISO 8601. */
export async function placeOf({ queries, courses, runners, now }: PlaceDependencies, job: JobRow) {
  if (isFinalStatus(jobStatusOf(job.status))) return null
  // The runner is also named if it has not been offered the job yet.
  const connections = await runners.connectionsOf(job.runner_id === null ? [] : [job.runner_id])
  const since = (await findTransitions(queries, job.id)).at(-1)?.time ?? job.start_time
  const runner = job.runner_id === null ? null : await findRunner(queries, job.runner_id)
  const isOnline = runner !== null && connections.has(runner.id)
  const course = job.dispatch === 'claimed' ? await courses.of(job.id) : null
  const state = stateOf(job, connections, course)
  return {
    state,
    since: isoTime(since),
    until: state === 'queued' ? await endOfWait(queries, job, now()) : null,
    before:
      state === 'queued' && job.runner_id !== null ? await countQueuedBefore(queries, job.id, job.runner_id) : null,
    runner:
      job.runner_name === null
        ? null
        : { name: job.runner_name, online: isOnline, last_seen: isoTime(runner?.lastSeen ?? null) },
    tasks: course === null ? [] : runningTasks(course),
    group: await groupWaitedFor(queries, job),
  }
}

/** The group in which a job waits for a place; null: it waits for none. */
async function groupWaitedFor(queries: Queries, job: JobRow) {
  const { concurrency_group: name, concurrency_limit: limit } = job
  if (name === null || job.dispatch !== 'parked' || job.status !== 'running') return null
  const before = (await findPlaceWaiters(queries, name)).filter(({ id }) => id < job.id).length
  return { name, limit: limit ?? 1, running: await findPlaceHolders(queries, name), before }
}

function stateOf(job: JobRow, connections: Connections, course: Course | null): PlaceState {
  switch (job.dispatch) {
    case 'parked':
      return 'waiting'
    case 'queued':
    case 'offered':
      return job.dispatch
    case 'driven':
      return 'running'
    case 'claimed':
      if (!isConnected(job, connections)) return 'lost'
      return course !== null && course.position > 0 ? 'running' : 'claimed'
    case 'done':
      return 'lost'
  }
}

/**
 * The end of the wait is stored as a time of the service clock. That clock may stand still, so this is the earliest
 * possible end.
 */
async function endOfWait(queries: Queries, job: JobRow, now: number): Promise<string | null> {
  if (job.wait_until === null) return null
  const { time } = await readServiceTime(queries)
  return isoTime(now + Math.max(0, job.wait_until - time))
}

/** The tasks that run at hosts now, the longest first, with the names of some of these hosts. */
function runningTasks(course: Course) {
  const busy = course.records.filter(({ running }) => running.size > 0)
  return busy.slice(0, MAX_TASKS).map(({ id, name, running }) => ({
    id,
    task: name,
    hosts: [...running.keys()].slice(0, MAX_HOSTS).map((host) => course.hosts[host] ?? ''),
    count: running.size,
    since: [...running.values()].reduce((one, other) => (one < other ? one : other)),
  }))
}
