import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Ages } from '../../ages/age-limits.js'
import type { Clock } from '../../time/clock.js'
import type { LiveEvents } from '../../live/live-events.js'
import { type EndedJob, endedJobs } from '../../store/jobs/ended-jobs.js'
import { deleteJob } from '../../store/jobs/jobs.js'
import type { Store } from '../../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../../time/sweeps.js'
import type { UploadSweeper } from '../../uploads/sweeper.js'

const SWEEP_EVERY_MS = 24 * 60 * 60_000

/** Most jobs and rows that one write removes. Small writes let other writes get their turn. */
const MAX_JOBS = 100
const MAX_ROWS = 2000

/** Output is stored in pieces of about this size, in bytes. */
const PIECE_BYTES = 4096

/**
 * Makes the part that deletes jobs whose time after their end is over, with their child jobs, output, events and uploads.
 * A job that runs or waits is never deleted.
 * @param keepMs how long jobs are kept after their end; null: for ever
 */
export function createJobRetention(
  deps: SweepDependencies & {
    readonly store: Store
    readonly live: LiveEvents
    readonly clock: Clock
    readonly ages: Ages
    readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
    readonly uploads: Pick<UploadSweeper, 'sweepSoon'>
    readonly keepMs: number | null
  },
): Sweeper {
  const { store, clock, ages, keepMs } = deps

  async function sweep(sweeps: { readonly isClosed: boolean }): Promise<void> {
    if (keepMs === null) return
    const before = await ages.of(keepMs)
    if (before === null) return
    let removed = 0
    try {
      while (!sweeps.isClosed) {
        const batch = oneWrite(await endedJobs(store.read, before, MAX_JOBS))
        if (batch.length === 0) break
        const gone = await removeJobs(batch, before)
        // A job stays if one of its child jobs has not ended. Without this, the search would find such jobs again and
        // again.
        if (gone === 0) break
        removed += gone
        deps.live.changed('jobs')
      }
    } finally {
      if (removed > 0) {
        deps.uploads.sweepSoon()
        deps.log.info({ jobs: removed }, 'jobs that ended long ago were deleted')
      }
    }
  }

  /** A job whose real outcome arrived in the meantime has a new end, and stays. */
  function removeJobs(batch: readonly EndedJob[], before: AgeLimit): Promise<number> {
    return store.write('jobs.sweep', async (queries) => {
      let removed = 0
      for (const { id } of batch)
        if (await deleteJob(queries, id, { time: clock.now(), endedBefore: before })) removed += 1
      return removed
    })
  }

  return startSweeper(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'jobs that ended long ago could not be deleted',
    sweep,
  })
}

/** The first jobs, as many as one write may remove, and at least one. */
function oneWrite(jobs: readonly EndedJob[]): readonly EndedJob[] {
  let rows = 0
  const tooMany = jobs.findIndex(({ events, outputBytes }, at) => {
    rows += events + Math.ceil(outputBytes / PIECE_BYTES)
    return at > 0 && rows > MAX_ROWS
  })
  return tooMany === -1 ? jobs : jobs.slice(0, tooMany)
}
