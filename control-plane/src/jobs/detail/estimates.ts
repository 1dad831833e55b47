import { findEarlierRuns, findEarlierSequences } from '../../store/jobs/earlier-runs.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import type { Queries } from '../../store/store.js'
import type { Courses } from '../course/courses.js'
import { type Estimate, estimateOf } from '../course/estimate.js'
import { type RunProfile, profileOf } from '../course/run-profile.js'
import { type EarlierRun, estimateOfSequence } from '../course/sequence-estimate.js'
import { type SequencePort, isSequence } from '../record/sequence-port.js'
import { readCurrentNodes, readEarlierSequence } from './sequence-runs.js'

/** The number of earlier runs that an estimate uses. */
const RUNS = 5
/** A run with more events is left out: reading it would take seconds. */
const MAX_EVENTS = 20_000
/** For how many jobs the earlier runs are kept, and for how many runs the profiles. */
const MAX_JOBS = 200
const MAX_PROFILES = 500
/** Highest age of an estimate for a list, in milliseconds. Lists ask for the same jobs again and again. */
const RECENT_MS = 5000

/** An estimate that was made for a list. */
interface Recent {
  readonly at: number
  readonly dispatch: EstimatedJob['dispatch']
  readonly estimate: Estimate | null
}

type EstimatedJob = Pick<JobRow, 'id' | 'form' | 'target' | 'job_type' | 'dispatch'>

/** How far jobs are, estimated from earlier runs of the same form. */
export type Estimates = ReturnType<typeof createEstimates>

/** What this needs of other parts. */
export interface EstimateDependencies {
  readonly queries: Queries
  readonly courses: Courses
  readonly sequences: Pick<SequencePort, 'nodesOf'>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** Makes the {@link Estimates}. */
export function createEstimates({ queries, courses, sequences, now }: EstimateDependencies) {
  /** The profiles of ended runs. They never change. */
  const profiles = new Map<number, Promise<RunProfile>>()
  /** The earlier runs are chosen once for each job. With other runs its estimate would jump. */
  const chosen = new Map<number, Promise<readonly RunProfile[]>>()
  const chosenSequences = new Map<number, Promise<readonly EarlierRun[]>>()
  const recent = new Map<number, Promise<Recent>>()
  const deps = { queries, courses, sequences, profileOfRun }

  function profileOfRun(id: number): Promise<RunProfile> {
    return kept(profiles, id, MAX_PROFILES, async () => profileOf(await courses.of(id)))
  }

  async function choose(job: EstimatedJob): Promise<readonly RunProfile[]> {
    const runs = await findEarlierRuns(queries, job, { runs: RUNS, mostEvents: MAX_EVENTS })
    const read: RunProfile[] = []
    // One after the other, because the complete course of each run is in memory meanwhile.
    for (const id of runs) read.push(await profileOfRun(id))
    return read.filter((profile) => profile.length > 0)
  }

  async function chooseSequences(job: EstimatedJob): Promise<readonly EarlierRun[]> {
    const read: EarlierRun[] = []
    for (const id of await findEarlierSequences(queries, job, RUNS)) {
      const run = await readEarlierSequence(deps, { id, job_type: job.job_type }, { events: MAX_EVENTS })
      if (run) read.push(run)
    }
    return read
  }

  async function ofSequence(job: EstimatedJob): Promise<Estimate | null> {
    if (job.dispatch !== 'driven') return null
    const earlier = await kept(chosenSequences, job.id, MAX_JOBS, () => chooseSequences(job))
    return earlier.length === 0 ? null : estimateOfSequence(await readCurrentNodes(deps, job), earlier, now())
  }

  /** Null: no playbook of the job runs now, or there is nothing to estimate from. */
  async function of(job: EstimatedJob): Promise<Estimate | null> {
    if (isSequence(job)) return ofSequence(job)
    if (job.job_type !== 'ansible' || job.dispatch !== 'claimed') return null
    const earlier = await kept(chosen, job.id, MAX_JOBS, () => choose(job))
    return earlier.length === 0 ? null : estimateOf(earlier, await courses.of(job.id), now())
  }

  return {
    of,
    /** The same as {@link of}, but the estimate may be a few seconds old. */
    async recentOf(job: EstimatedJob): Promise<Estimate | null> {
      const { id, dispatch } = job
      const last = recent.get(id)
      const known = await last
      if (known && known.dispatch === dispatch && now() - known.at < RECENT_MS) return known.estimate
      // Several callers that ask at the same time share one estimate.
      if (recent.get(id) === last) recent.delete(id)
      const made = async (): Promise<Recent> => ({ at: now(), dispatch, estimate: await of(job) })
      return (await kept(recent, id, MAX_JOBS, made)).estimate
    },
  }
}

/** Gives what is kept for an id, or makes it now. A failure is not kept. The oldest entries are removed first. */
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
