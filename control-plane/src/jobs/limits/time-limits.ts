import type { LiveEvents } from '../../live/live-events.js'
import type { ServiceClock } from '../../nodes/service-clock.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import { requestAbort } from '../../store/jobs/jobs.js'
import {
  type LimitedJob,
  findChildrenUnderWay,
  findLimitedJob,
  findLimitedJobs,
  noteRunTime,
} from '../../store/jobs/time-limits.js'
import type { Store } from '../../store/store.js'
import { type RunnerPresence, connectionsFor, isConnected } from '../read/connected.js'
import type { RunnerPort } from '../record/runner-port.js'
import { type SequencePort, isSequence } from '../record/sequence-port.js'
import { countTime, durationWords } from './count-time.js'

/** What the time limits of forms need of other parts. */
export interface TimeLimitDependencies {
  readonly store: Store
  readonly live: LiveEvents
  readonly serviceClock: ServiceClock
  readonly runners: RunnerPort & RunnerPresence
  readonly sequences: Pick<SequencePort, 'advance'>
  readonly log: { info(fields: object, text: string): void }
}

/**
 * Counts the time of the jobs with a time limit that run now, and asks for the abort of those whose time is over. Every
 * node may look at the same time: each job is counted in one write, from what is stored.
 */
export async function lookAtTimeLimits(dependencies: TimeLimitDependencies): Promise<void> {
  const { store, serviceClock } = dependencies
  const limited = await findLimitedJobs(store.read)
  if (limited.length === 0) return
  const now = await serviceClock.look()
  for (const job of await runningOf(dependencies, limited)) {
    if (countOf(job, now) !== null) await count(dependencies, job, now)
  }
}

/**
 * Selects the jobs whose playbook is at a connected runner now. For a parent job, a playbook of one of its child jobs
 * is enough.
 */
async function runningOf(
  { store, runners }: Pick<TimeLimitDependencies, 'store' | 'runners'>,
  jobs: readonly LimitedJob[],
): Promise<LimitedJob[]> {
  // Each job below a parent job, with the job whose time limit covers it.
  const owners = new Map(jobs.map((job) => [job.id, new Set([job.id])]))
  const playbooks: LimitedJob[] = jobs.filter((job) => !isSequence(job))
  let parents: LimitedJob[] = jobs.filter(isSequence)
  while (parents.length > 0) {
    const children = await findChildrenUnderWay(
      store.read,
      parents.map(({ id }) => id),
    )
    for (const child of children) {
      const above = child.parent_id === null ? undefined : owners.get(child.parent_id)
      owners.set(child.id, new Set([...(owners.get(child.id) ?? []), ...(above ?? [])]))
    }
    playbooks.push(...children.filter((child) => !isSequence(child)))
    parents = children.filter(isSequence)
  }
  const connections = await connectionsFor(runners, playbooks)
  const seen = playbooks.filter((job) => isConnected(job, connections)).flatMap(({ id }) => [...(owners.get(id) ?? [])])
  const running = new Set(seen)
  return jobs.filter(({ id }) => running.has(id))
}

function countOf({ time_limit_ms, ran_ms, counted_at }: LimitedJob, now: number) {
  if (time_limit_ms === null) return null
  return countTime({ limitMs: time_limit_ms, ranMs: ran_ms, countedAt: counted_at }, now)
}

/**
 * The product ends a playbook only because a person asked for it. Here it was the author of the form, by `timeout`. It
 * works like an abort by a person: it is stored, the runner carries it out when it has the job, and only the runner's
 * report ends the job. If the playbook ended before, its real outcome stays.
 */
async function count(
  { store, live, runners, sequences, log }: TimeLimitDependencies,
  { id, form }: LimitedJob,
  now: number,
): Promise<void> {
  const aborted = await store.write('jobs.time_limit', async (queries) => {
    const job = await findLimitedJob(queries, id)
    const counted = job && countOf(job, now)
    if (!job || !counted) return null
    await noteRunTime(queries, id, counted.ranMs, now)
    if (!counted.isOver) return null
    const by = `the time limit of its form (${durationWords(job.time_limit_ms ?? 0)})`
    if (!(await requestAbort(queries, id, by, ['running', 'abandoned']))) return null
    await appendServiceLine(queries, id, `[WARNING]: Abort requested by ${by}`)
    return job
  })
  if (!aborted) return
  log.info({ job_id: id, form, limit_ms: aborted.time_limit_ms }, 'a job ran longer than its form allows')
  live.changed('jobs')
  if (isSequence(aborted)) sequences.advance(id)
  else if (aborted.runner_id !== null) runners.abortRequested(aborted.runner_id, id, aborted.run_id)
}
