import type { Logger } from 'pino'
import { type Clock, createSteadyClock } from '../clock.js'
import { messageOf } from '../errors.js'
import type { RunnerPort } from '../jobs/runner-port.js'
import { findRunnersWaitedFor } from '../store/dispatch.js'
import { findRunner } from '../store/runners.js'
import type { OpenSession } from './connection.js'
import { JobSession, type JobSessionDependencies } from './job-session.js'
import { abandonHeld, abandonSilent } from './silence.js'
import { failOverdueWaiting, tellWaiting } from './waiting.js'

/** How often overdue waits and silent runners are looked for, in milliseconds. */
const SWEEP_MS = 1000

export interface DispatcherDependencies extends Omit<JobSessionDependencies, 'closed' | 'steady'> {
  readonly log: Logger
  /** RTE_LOST_SECONDS, in milliseconds. */
  readonly lostMs: number
  /** By which silence and waiting are measured; without it one made of `clock`. */
  readonly steady?: Clock
}

/** Brings jobs to runners: knows the sessions of this node, and looks after jobs that wait for a runner in vain. */
export interface Dispatcher extends RunnerPort {
  readonly openSession: OpenSession
  /** A runner was revoked: its reports are refused from now on, so its jobs are given up. */
  revoked(runnerId: number): Promise<void>
  close(): Promise<void>
}

export function createDispatcher(given: DispatcherDependencies): Dispatcher {
  const steady = given.steady ?? createSteadyClock(given.clock)
  const dependencies = { ...given, steady }
  const sessions = new Map<number, JobSession>()
  const startedAt = steady.now()
  /** When the last session of a runner was closed, by the steady clock. */
  const closedAt = new Map<number, number>()
  let sweeping: Promise<void> | null = null

  const sweep = async () => {
    for (const session of sessions.values()) session.checkOffers()
    await failOverdueWaiting(dependencies)
    // A connection may have ended before its jobs were offered or told anything.
    for (const runnerId of await findRunnersWaitedFor(dependencies.store.read)) {
      if (!sessions.has(runnerId)) await tellOffline(runnerId)
    }
    await abandonSilent({
      ...dependencies,
      isOnline: (runnerId) => sessions.has(runnerId),
      silentFor: (runnerId) => steady.now() - (closedAt.get(runnerId) ?? startedAt),
    })
  }
  const report = (what: string) => (error: unknown) =>
    dependencies.log.error({ reason: messageOf(error) }, `${what} failed`)
  const timer = setInterval(() => {
    sweeping ??= sweep()
      .catch(report('looking after waiting jobs'))
      .finally(() => {
        sweeping = null
      })
  }, SWEEP_MS)

  async function tellOffline(runnerId: number): Promise<void> {
    const runner = await findRunner(dependencies.store.read, runnerId)
    if (runner) await tellWaiting(dependencies, runnerId, `Waiting for RTE ${runner.name}, which is not connected`)
  }

  return {
    openSession(connection, capacity) {
      const session = new JobSession(connection, capacity, {
        ...dependencies,
        closed: () => {
          if (sessions.get(connection.runnerId) !== session) return
          sessions.delete(connection.runnerId)
          closedAt.set(connection.runnerId, steady.now())
        },
      })
      sessions.set(connection.runnerId, session)
      return session
    },
    jobQueued(runnerId) {
      const session = sessions.get(runnerId)
      if (session) session.offer()
      else tellOffline(runnerId).catch(report('telling a job that its runner is offline'))
    },
    abortRequested(runnerId, jobId, runId) {
      sessions.get(runnerId)?.abort(jobId, runId)
    },
    revoked: (runnerId) => abandonHeld(dependencies, runnerId, 'an admin revoked the RTE while the job ran'),
    async close() {
      clearInterval(timer)
      await sweeping
    },
  }
}
