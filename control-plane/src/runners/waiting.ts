import type { Clock } from '../clock.js'
import { failJob } from '../jobs/ending.js'
import { problemOf } from '../jobs/runner-choice.js'
import type { JobEnds } from '../jobs/sequence-port.js'
import type { LiveEvents } from '../live/live-events.js'
import { findRunnersWaitedFor, findUntoldWaiting, findWaiting, setWaitUntil } from '../store/dispatch.js'
import { appendServiceLine } from '../store/job-streams.js'
import { findRunner } from '../store/runners.js'
import type { Store } from '../store/store.js'

export interface WaitingDependencies {
  readonly store: Store
  readonly clock: Clock
  /** By which patience is measured: whoever sets the other clock must not end it. */
  readonly steady: Clock
  readonly live: LiveEvents
  readonly ends?: JobEnds | undefined
  /** RTE_QUEUE_MINUTES in milliseconds: how long a job waits for its runner. */
  readonly queueMs: number
}

/** Writes once into the output of each waiting job of a runner what it waits for, and starts its patience. */
export async function tellWaiting(dependencies: WaitingDependencies, runnerId: number, line: string): Promise<void> {
  const { store, steady, live, queueMs } = dependencies
  if ((await findUntoldWaiting(store.read, runnerId)).length === 0) return
  const told = await store.write('jobs.waiting', async (queries) => {
    const jobs = await findUntoldWaiting(queries, runnerId)
    let count = 0
    for (const job of jobs) {
      // Another node may tell it at the same time.
      if (!(await setWaitUntil(queries, job.id, steady.now() + queueMs))) continue
      await appendServiceLine(queries, job.id, line)
      count += 1
    }
    return count
  })
  if (told > 0) live.changed('jobs')
}

/** Fails the waiting jobs whose patience is over or whose runner is gone, turned off or revoked. */
export async function failOverdueWaiting(dependencies: WaitingDependencies): Promise<void> {
  for (const runnerId of await findRunnersWaitedFor(dependencies.store.read)) await failWaiting(dependencies, runnerId)
}

/** The same for the jobs of one runner. */
export async function failWaiting(dependencies: WaitingDependencies, runnerId: number): Promise<void> {
  const { store, clock, steady, live, queueMs, ends } = dependencies
  const runner = await findRunner(store.read, runnerId)
  const problem = runner === null ? 'The RTE of this job was deleted' : problemOf(runner)
  const now = clock.now()
  const minutes = Math.round(queueMs / 60_000)
  const reason =
    problem ?? `the RTE '${runner?.name ?? ''}' had no free slot for ${minutes} minutes (RTE_QUEUE_MINUTES)`
  const overAt = problem === null ? steady.now() : null
  if ((await findWaiting(store.read, runnerId, overAt)).length === 0) return
  await store.write('jobs.overdue', async (queries) => {
    for (const job of await findWaiting(queries, runnerId, overAt)) await failJob(queries, job.id, reason, now)
  })
  live.changed('jobs')
  ends?.jobEnded()
}
