import { type Clock, isoTime } from '../clock.js'
import { abandonJob } from '../jobs/ending.js'
import type { JobEnds } from '../jobs/sequence-port.js'
import type { LiveEvents } from '../live/live-events.js'
import { findHeldJobs, findRunnersWithRunningJobs } from '../store/dispatch.js'
import { type Runner, findRunner } from '../store/runners.js'
import type { Store } from '../store/store.js'
import type { LastSeen } from './last-seen.js'

export interface SilenceDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  readonly ends?: JobEnds | undefined
  /** RTE_LOST_SECONDS in milliseconds: silence after which a runner's jobs are shown abandoned. */
  readonly lostMs: number
  /** Whether a runner is connected, here or at another node. */
  readonly isOnline: (runner: Runner) => boolean
  readonly lastSeen: LastSeen
}

/** Gives up the jobs of runners that have been silent too long, or that were revoked or deleted. */
export async function abandonSilent(dependencies: SilenceDependencies): Promise<void> {
  const { store, clock, lostMs, isOnline, lastSeen } = dependencies
  const runnerIds = await findRunnersWithRunningJobs(store.read)
  lastSeen.keepOnly(runnerIds)
  for (const runnerId of runnerIds) {
    const runner = await findRunner(store.read, runnerId)
    if (runner === null) {
      await abandonHeld(dependencies, runnerId, 'The RTE of this job was deleted while it ran')
      continue
    }
    if (isOnline(runner)) lastSeen.note(runnerId)
    const silentMs = lastSeen.silentFor(runnerId)
    if (silentMs > lostMs) {
      const since = isoTime(clock.now() - silentMs)
      await abandonHeld(dependencies, runnerId, `the RTE '${runner.name}' has been silent since ${since}`)
    }
  }
}

/** Gives up every running job that a runner holds, with a reason. */
export async function abandonHeld(
  { store, clock, live, ends }: Pick<SilenceDependencies, 'store' | 'clock' | 'live' | 'ends'>,
  runnerId: number,
  reason: string,
): Promise<void> {
  await store.write('jobs.abandon', async (queries) => {
    for (const job of await findHeldJobs(queries, runnerId)) await abandonJob(queries, job.id, reason, clock.now())
  })
  live.changed('jobs')
  ends?.jobEnded()
}
