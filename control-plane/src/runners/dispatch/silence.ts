import { isoTime } from '../../time/clock.js'
import { abandonJob } from '../../jobs/job-port.js'
import { findHeldJobs } from '../../store/jobs/dispatch.js'
import { type Runner, findRunner } from '../../store/runners/runners.js'
import type { JobChanges } from '../held/job-changes.js'
import type { LastSeen } from './last-seen.js'

/** What the watch over silent runners needs of other parts. */
export interface SilenceDependencies extends JobChanges {
  /** RTE_LOST_SECONDS in milliseconds: silence after which a runner's jobs are abandoned. */
  readonly lostMs: number
  /** Whether a runner is connected, at this node or at another one. */
  readonly isOnline: (runner: Runner) => boolean
  readonly lastSeen: LastSeen
}

/**
 * Abandons the running jobs of a runner that has been silent too long, or that was deleted. @param runner null: deleted
 */
export async function abandonSilent(
  dependencies: SilenceDependencies,
  runnerId: number,
  runner: Runner | null,
): Promise<void> {
  const { clock, lostMs, lastSeen } = dependencies
  if (runner === null) {
    await abandonHeld(dependencies, runnerId, 'The runner of this job was deleted while it ran')
    return
  }
  const silentMs = lastSeen.silentFor(runnerId)
  if (silentMs <= lostMs) return
  const since = isoTime(clock.now() - silentMs)
  await abandonHeld(dependencies, runnerId, `the runner '${runner.name}' has been silent since ${since}`, (now) =>
    dependencies.isOnline(now),
  )
}

/**
 * Abandons every running job that a runner has, with a reason.
 * @param isSpared checked again inside the write, because the runner may have come back since the decision
 */
export async function abandonHeld(
  { store, clock, live, ends }: JobChanges,
  runnerId: number,
  reason: string,
  isSpared: (runner: Runner) => boolean = () => false,
): Promise<void> {
  await store.write('jobs.abandon', async (queries) => {
    const runner = await findRunner(queries, runnerId)
    if (runner !== null && isSpared(runner)) return
    for (const job of await findHeldJobs(queries, runnerId)) await abandonJob(queries, job.id, reason, clock.now())
  })
  live.changed('jobs')
  ends?.jobEnded()
}
