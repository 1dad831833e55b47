import { findEarlierRuns } from '../../store/jobs/earlier-runs.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import type { Queries } from '../../store/store.js'
import type { Courses } from '../course/courses.js'
import { type Estimate, estimateOf } from '../course/estimate.js'
import { type RunProfile, profileOf } from '../course/run-profile.js'

/** How many earlier runs count. */
const RUNS = 5
/** A run with more events is left out: reading it would take seconds. */
const MOST_EVENTS = 20_000
/** Jobs whose earlier runs are kept, and runs whose profiles are kept. */
const MOST_JOBS = 200
const MOST_PROFILES = 500

/** How far jobs are, as earlier runs of the same form let expect. */
export interface Estimates {
  /** Null: the job runs no playbook now, or there is nothing to estimate from. */
  of(job: Pick<JobRow, 'id' | 'form' | 'target' | 'job_type' | 'dispatch'>): Promise<Estimate | null>
}

/** @param now milliseconds since the epoch */
export function createEstimates({
  queries,
  courses,
  now,
}: {
  readonly queries: Queries
  readonly courses: Courses
  readonly now: () => number
}): Estimates {
  /** Of a run that has ended, so they never change. */
  const profiles = new Map<number, Promise<RunProfile>>()
  /** Chosen once for each job: other runs would let its estimate jump. */
  const chosen = new Map<number, Promise<readonly RunProfile[]>>()

  function profileOfRun(id: number): Promise<RunProfile> {
    return kept(profiles, id, MOST_PROFILES, async () => profileOf(await courses.of(id)))
  }

  async function choose(job: Pick<JobRow, 'id' | 'form' | 'target'>): Promise<readonly RunProfile[]> {
    const runs = await findEarlierRuns(queries, job, { runs: RUNS, mostEvents: MOST_EVENTS })
    const read: RunProfile[] = []
    // One after the other: courses are read whole.
    for (const id of runs) read.push(await profileOfRun(id))
    return read.filter((profile) => profile.length > 0)
  }

  return {
    async of(job) {
      if (job.job_type !== 'ansible' || job.dispatch !== 'claimed') return null
      const earlier = await kept(chosen, job.id, MOST_JOBS, () => choose(job))
      return earlier.length === 0 ? null : estimateOf(earlier, await courses.of(job.id), now())
    },
  }
}

/** What was made for an id, made now if it was not. A failure is not kept, and the oldest go first. */
function kept<T>(map: Map<number, Promise<T>>, id: number, most: number, make: () => Promise<T>): Promise<T> {
  const known = map.get(id)
  if (known) return known
  const made = make()
  map.set(id, made)
  made.catch(() => map.delete(id))
  const [oldest] = map.keys()
  if (map.size > most && oldest !== undefined) map.delete(oldest)
  return made
}
