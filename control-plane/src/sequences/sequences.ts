import type { JobEnds, SequencePort } from '../jobs/record/sequence-port.js'
import type { ServiceClock } from '../nodes/service-clock.js'
import { findDueSequences, findFirstDueTime, renewDueTimes } from '../store/jobs/sequences.js'
import { SERVICE_CLOCK_ORIGIN } from '../store/service/service-clock.js'
import { startSweeps } from '../sweeps.js'
import type { Timers } from '../timers.js'
import { type AdvanceDependencies, takeStep } from './advance.js'

/** How often the database is asked whether there is something to do that nobody said. */
const SWEEP_EVERY_MS = 2000

/** Sequences that a sweep moves on at the same time. */
const MAX_AT_ONCE = 16

/**
 * Moves jobs on that consist of others. Where each stands is only in the database; here is known only which of them are
 * being looked at, so that each is moved by one hand at a time:
 *   looked at ⇄ looked at, and something happened meanwhile (it is looked at once more) → forgotten
 * Whoever knows that something happened says so; the sweep finds by itself what nobody said, after a restart too.
 */
export interface Sequences extends SequencePort, JobEnds {
  /** Looks for everything there is to do, and does it. */
  sweep(): Promise<void>
  /** Resolves when what is under way has ended. */
  close(): Promise<void>
}

export function createSequences(
  deps: AdvanceDependencies & { readonly timers: Timers; readonly serviceClock: ServiceClock },
): Sequences {
  const { kinds, store, serviceClock, log } = deps
  const looking = new Map<number, { isAgain: boolean; readonly done: Promise<void> }>()
  let isAsked = false
  let isClosed = false

  function look(jobId: number): Promise<void> {
    const current = looking.get(jobId)
    if (current) {
      current.isAgain = true
      return current.done
    }
    const entry = { isAgain: false, done: Promise.resolve() }
    looking.set(jobId, entry)
    entry.done = moveOn(jobId, entry)
      .catch((error: unknown) => {
        log.warn({ job: jobId, err: error }, 'a job could not be moved on; tried again later')
      })
      .finally(() => looking.delete(jobId))
    return entry.done
  }

  async function moveOn(jobId: number, entry: { isAgain: boolean }): Promise<void> {
    for (;;) {
      entry.isAgain = false
      const turn = await takeStep(deps, jobId)
      for (const other of turn.others) advance(other)
      if (isClosed || (turn.result === 'rest' && !entry.isAgain)) return
    }
  }

  function advance(jobId: number): void {
    if (!isClosed) void look(jobId)
  }

  /** Moves the service clock on while an approval waits whose time is limited; else nothing depends on it. */
  async function serviceTime(): Promise<number> {
    const first = await findFirstDueTime(store.read)
    if (first === null) return 0
    const time = await serviceClock.look()
    if (first < SERVICE_CLOCK_ORIGIN) {
      await store.write('sequences.renew_due_times', (queries) => renewDueTimes(queries, time))
      return 0
    }
    return time
  }

  async function sweep(): Promise<void> {
    isAsked = false
    const due = await findDueSequences(store.read, await serviceTime())
    for (let first = 0; first < due.length && !isClosed; first += MAX_AT_ONCE) {
      await Promise.all(due.slice(first, first + MAX_AT_ONCE).map(look))
    }
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'jobs that consist of others could not be looked after',
    sweep,
  })

  return {
    async planOf(form) {
      for (const kind of kinds) {
        const planned = await kind.plan(form)
        if (planned) return planned
      }
      return null
    },
    advance,
    endsWithRejection: (jobType) => kinds.find((kind) => kind.jobType === jobType)?.endsWithRejection ?? true,
    jobEnded() {
      // Many jobs may end at once: one look finds what follows of all of them.
      if (isAsked || isClosed) return
      isAsked = true
      sweeps.soon(sweep)
    },
    sweep,
    async close() {
      isClosed = true
      await sweeps.close()
      await Promise.all([...looking.values()].map(({ done }) => done))
    },
  }
}
