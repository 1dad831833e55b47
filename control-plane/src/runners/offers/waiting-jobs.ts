import { failJob, runnerProblem } from '../../jobs/job-port.js'
import { findWaitingWithoutLine, findWaiting, setWaitUntil } from '../../store/jobs/dispatch.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import { type Runner, findRunner } from '../../store/runners/runners.js'
import { readServiceTime } from '../../store/service/service-clock.js'
import type { JobChanges } from '../held/job-changes.js'

/** What this part needs of other parts. */
export interface WaitingDependencies extends JobChanges {
  /** RTE_QUEUE_MINUTES in milliseconds: how long a job waits for its runner, by the service clock. */
  readonly queueMs: number
}

/**
 * Writes once into the output of each waiting job of a runner what it waits for, and starts the time limit of its wait.
 */
export async function writeWaitingLine(
  dependencies: WaitingDependencies,
  runnerId: number,
  line: string,
): Promise<void> {
  const { store, live, queueMs } = dependencies
  if ((await findWaitingWithoutLine(store.read, runnerId)).length === 0) return
  const written = await store.write('jobs.waiting', async (queries) => {
    const { time } = await readServiceTime(queries)
    const jobs = await findWaitingWithoutLine(queries, runnerId)
    let count = 0
    for (const job of jobs) {
      // Another node may write the line at the same time.
      if (!(await setWaitUntil(queries, job.id, time + queueMs))) continue
      await appendServiceLine(queries, job.id, line)
      count += 1
    }
    return count
  })
  if (written > 0) live.changed('jobs')
}

/** Why a runner can have no job at all; null: it can. Jobs that wait for such a runner fail at once. */
export function whyNever(runner: Runner | null): string | null {
  return runner === null ? 'The runner of this job was deleted' : runnerProblem(runner)
}

/** Fails the waiting jobs of a runner that is gone, turned off or revoked. */
export async function failUnservable(dependencies: WaitingDependencies, runnerId: number): Promise<void> {
  const reason = whyNever(await findRunner(dependencies.store.read, runnerId))
  if (reason !== null) await failWaiting(dependencies, runnerId, reason, null)
}

/**
 * Fails the waiting jobs of a runner whose time to wait is over.
 * @param why the reason why the runner does not take them, such as `has no free slot`; it must be known
 * @param time by the service clock
 */
export async function failOverdue(
  dependencies: WaitingDependencies,
  { id, name }: Pick<Runner, 'id' | 'name'>,
  why: string,
  time: number,
): Promise<void> {
  const minutes = Math.round(dependencies.queueMs / 60_000)
  const words = `${minutes} ${minutes === 1 ? 'minute' : 'minutes'} (RTE_QUEUE_MINUTES)`
  await failWaiting(dependencies, id, `the job waited ${words} for the runner '${name}', which ${why}`, time)
}

async function failWaiting(
  { store, clock, live, ends }: JobChanges,
  runnerId: number,
  reason: string,
  overAt: number | null,
): Promise<void> {
  if ((await findWaiting(store.read, runnerId, overAt)).length === 0) return
  await store.write('jobs.overdue', async (queries) => {
    for (const job of await findWaiting(queries, runnerId, overAt)) {
      await failJob(queries, job.id, reason, clock.now())
    }
  })
  live.changed('jobs')
  ends?.jobEnded()
}
