import { type Clock, isoTime } from '../clock.js'
import { abandonJob } from '../jobs/ending.js'
import type { JobEnds } from '../jobs/sequence-port.js'
import type { LiveEvents } from '../live/live-events.js'
import { findHeldJobs, findRunnersWithRunningJobs } from '../store/dispatch.js'
import { findRunner } from '../store/runners.js'
import type { Store } from '../store/store.js'

export interface SilenceDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  readonly ends?: JobEnds | undefined
  /** RTE_LOST_SECONDS in milliseconds: silence after which a runner's jobs are shown abandoned. */
  readonly lostMs: number
  readonly isOnline: (runnerId: number) => boolean
  /**
   * How long a runner that is not online has been silent, in milliseconds; at most since this process started: a restart
   * gives every runner the whole time to come back.
   */
  readonly silentFor: (runnerId: number) => number
}

/** Gives up the jobs of runners that have been silent too long, or that were revoked or deleted. */
export async function abandonSilent(dependencies: SilenceDependencies): Promise<void> {
  const { store, clock, lostMs, isOnline, silentFor } = dependencies
  for (const runnerId of await findRunnersWithRunningJobs(store.read)) {
    if (isOnline(runnerId)) continue
    const runner = await findRunner(store.read, runnerId)
    const silentMs = silentFor(runnerId)
    if (runner === null) await abandonHeld(dependencies, runnerId, 'The RTE of this job was deleted while it ran')
    else if (silentMs > lostMs) {
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
