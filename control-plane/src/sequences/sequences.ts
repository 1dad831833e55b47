import type { JobEnds, SequencePort } from '../jobs/record/sequence-port.js'
import type { ServiceClock } from '../nodes/service-clock.js'
import { changeNode, closeNodes, findDueSequences, findFirstDueTime } from '../store/jobs/sequences.js'
import { startSweeps } from '../time/sweeps.js'
import type { Timers } from '../time/timers.js'
import { type AdvanceDependencies, takeStep } from './advance.js'
import { Looks } from './looks.js'

/** How often the database is asked for work that nobody announced, in milliseconds. */
const SWEEP_EVERY_MS = 2000

/** Parent jobs that a sweep moves on at the same time. */
const MAX_AT_ONCE = 16

/**
 * Moves parent jobs on. The state of a parent job is only in the database. This part only knows which parent jobs are
 * being moved on at the moment, so that each is moved on by one call at a time.
 *
 * Code that knows about an event calls `advance`. If that happens while the parent job is being moved on, it is looked
 * at once more afterwards. The sweep finds what nobody announced, also after a restart.
 */
export interface Sequences extends SequencePort, JobEnds {
  /** Looks for everything that can go on, and moves it on. */
  sweep(): Promise<void>
  /** Resolves when all work that has begun is done. */
  close(): Promise<void>
}

/** Makes the {@link Sequences}. The sweeps begin at once. */
export function createSequences(
  deps: AdvanceDependencies & { readonly timers: Timers; readonly serviceClock: ServiceClock },
): Sequences {
  const { kinds, store, serviceClock, log } = deps
  const looks = new Looks(
    (jobId) => takeStep(deps, jobId),
    (jobId, error) => log.warn({ job: jobId, err: error }, 'a job could not be moved on; tried again later'),
  )
  let isAsked = false

  /** Moves the service clock on while an approval with a time limit waits. Otherwise nothing depends on that clock. */
  async function serviceTime(): Promise<number> {
    return (await findFirstDueTime(store.read)) === null ? 0 : serviceClock.look()
  }

  async function sweep(): Promise<void> {
    isAsked = false
    const due = await findDueSequences(store.read, await serviceTime())
    for (let first = 0; first < due.length && !looks.isClosed; first += MAX_AT_ONCE) {
      await Promise.all(due.slice(first, first + MAX_AT_ONCE).map((jobId) => looks.look(jobId)))
    }
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'parent jobs could not be moved on',
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
    nodesOf: (jobType, plan) =>
      kinds
        .find((kind) => kind.jobType === jobType)
        ?.open(plan)
        .nodes() ?? [],
    advance: (jobId) => looks.begin(jobId),
    endsWithRejection: (jobType) => kinds.find((kind) => kind.jobType === jobType)?.endsWithRejection ?? true,
    noteDecision: (queries, jobId, identifier, decision) =>
      changeNode(queries, jobId, identifier, { approval: decision, due_time: null }),
    closeWaiting: (queries, jobId, end) => closeNodes(queries, jobId, { status: 'do not run', ...end }),
    jobEnded() {
      // Many jobs may end at once. One look at the database finds what follows of all of them.
      if (isAsked || looks.isClosed) return
      isAsked = true
      sweeps.soon(sweep)
    },
    sweep,
    async close() {
      looks.stop()
      await sweeps.close()
      await looks.allDone()
    },
  }
}
