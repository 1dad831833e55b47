import { Gauge, type Registry } from 'prom-client'
import type { Clock } from '../time/clock.js'
import { UnavailableError } from '../errors.js'
import { JOB_STATUSES, OPEN_STATUSES, isEnded } from '../words/job-status.js'
import { within } from '../time/time-limit.js'
import { RUNNER_STATES } from '../words/runner-state.js'
import { readFigures } from '../store/service/figures.js'
import type { Store } from '../store/store.js'

/** Each of them is always shown, so that a graph begins with a zero and not with a gap. */
const ENDED = JOB_STATUSES.filter(isEnded)
const DAY_MS = 24 * 60 * 60 * 1000
/** Whoever scrapes wants an answer, also while the database hangs; in milliseconds. */
const TIMEOUT_MS = 2000

/** Makes the gauges that are read from the database when somebody looks, without values yet. */
export function createDatabaseGauges(deps: {
  readonly store: Pick<Store, 'read'>
  readonly clock: Clock
  readonly registers: Registry[]
}) {
  const { registers } = deps
  const jobs = new Gauge({ name: 'af_jobs', help: 'Jobs that have not ended', labelNames: ['status'], registers })
  const ended = new Gauge({
    name: 'af_jobs_ended_24h',
    help: 'Jobs that ended within 24 hours',
    labelNames: ['status'],
    registers,
  })
  const runners = new Gauge({
    name: 'holdfast_runners',
    help: 'Runners by the state of their request',
    labelNames: ['state'],
    registers,
  })
  const spool = new Gauge({
    name: 'holdfast_runner_spool_bytes',
    help: 'Bytes that an approved runner holds and that are not stored here, as it last said',
    labelNames: ['runner'],
    registers,
  })
  const running = new Gauge({
    name: 'holdfast_runner_running_jobs',
    help: 'Playbooks that run on an approved runner, as it last said',
    labelNames: ['runner'],
    registers,
  })
  const gauges = [jobs, ended, runners, spool, running]

  return {
    /** Brings them up to date. @throws UnavailableError when the database does not answer; they then show nothing */
    async read(): Promise<void> {
      const tooLate = () => new UnavailableError('database_unreachable', 'the database is slow')
      const reading = readFigures(deps.store.read, deps.clock.now() - DAY_MS)
      const figures = await within(TIMEOUT_MS, reading, tooLate).catch((error: unknown) => {
        for (const gauge of gauges) gauge.reset()
        throw error
      })
      for (const gauge of gauges) gauge.reset()
      for (const status of OPEN_STATUSES) jobs.set({ status }, figures.jobsByStatus.get(status) ?? 0)
      for (const status of ENDED) ended.set({ status }, figures.endedByStatus.get(status) ?? 0)
      for (const state of RUNNER_STATES) runners.set({ state }, figures.runnersByState.get(state) ?? 0)
      for (const { name, spoolBytes, runningJobs } of figures.runners) {
        spool.set({ runner: name }, spoolBytes)
        running.set({ runner: name }, runningJobs)
      }
    },
  }
}
