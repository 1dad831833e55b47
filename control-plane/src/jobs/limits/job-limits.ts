import { findGroupsWaitedFor } from '../../store/jobs/places.js'
import { type Sweeps, startSweeps } from '../../time/sweeps.js'
import type { Clock } from '../../time/clock.js'
import type { Timers } from '../../time/timers.js'
import { type Admitted, admit } from './places.js'
import { type TimeLimitDependencies, lookAtTimeLimits } from './time-limits.js'

/** How often a node looks, in milliseconds. */
const LOOK_MS = 1000

/** What the limits of forms need of other parts. */
export interface JobLimitDependencies extends TimeLimitDependencies {
  readonly clock: Clock
  readonly timers: Timers
  readonly log: TimeLimitDependencies['log'] & { warn(fields: object, text: string): void }
}

/** Enforces the limits of forms: how long their jobs may run, and how many of them at once. */
export type JobLimits = ReturnType<typeof createJobLimits>

/**
 * Makes the {@link JobLimits} of this node. Nothing is kept in memory. So a restart changes nothing, and another node
 * does the same from the same rows.
 */
export function createJobLimits(dependencies: JobLimitDependencies) {
  const { store, live, clock, timers, log } = dependencies
  let isLookPlanned = false

  async function lookAtGroups(): Promise<void> {
    for (const group of await findGroupsWaitedFor(store.read)) {
      const admitted = await store.write('jobs.admit', (queries) => admit(queries, group, clock.now()))
      if (admitted.length > 0) live.changed('jobs')
      announceAdmitted(dependencies, admitted)
    }
  }

  const sweep = async () => {
    await lookAtGroups()
    await lookAtTimeLimits(dependencies)
  }
  const sweeps: Sweeps = startSweeps(
    { timers, log },
    { everyMs: LOOK_MS, failure: 'the limits of jobs could not be looked at', sweep },
  )
  return {
    /** Looks once at both limits. The results are stored when it resolves. */
    look: sweep,
    /** Jobs have ended, so there may be free places. Returns at once and never throws. */
    jobEnded(): void {
      if (isLookPlanned || sweeps.isClosed) return
      isLookPlanned = true
      sweeps.soon(async () => {
        isLookPlanned = false
        await lookAtGroups()
      })
    },
    /** Resolves when the present look has ended, if there is one. */
    close: () => sweeps.close(),
  }
}

/** Announces, after the commit, which jobs may begin. */
export function announceAdmitted(
  {
    runners,
    sequences,
  }: Pick<TimeLimitDependencies, 'sequences'> & {
    readonly runners: Pick<TimeLimitDependencies['runners'], 'jobQueued'>
  },
  admitted: readonly Admitted[],
): void {
  for (const { id, runnerId } of admitted) {
    if (runnerId === null) sequences.advance(id)
    else runners.jobQueued(runnerId)
  }
}
