import type { Logger } from 'pino'
import { type Clock, createSteadyClock } from '../../clock.js'
import { messageOf } from '../../errors.js'
import type { RunnerPort, RunnerPresence } from '../../jobs/job-port.js'
import { type Nodes, SOLE_NODE, isElsewhere } from '../../nodes/nodes.js'
import { type ServiceClock, createServiceClock } from '../../nodes/service-clock.js'
import {
  findAskedAborts,
  findOffered,
  findRunnersWaitedFor,
  findRunnersWithRunningJobs,
} from '../../store/jobs/dispatch.js'
import { findRunnersWithDecisions } from '../../store/jobs/orphans.js'
import { type Runner, findConnectedNodes, findRunner } from '../../store/runners/runners.js'
import type { OpenSession } from '../socket/connection.js'
import { fencedStore } from '../socket/fenced-store.js'
import { JobSession, type JobSessionDependencies } from './job-session.js'
import { createLastSeen } from './last-seen.js'
import { abandonHeld, abandonSilent } from './silence.js'
import { failOverdue, failUnservable, writeWaitingLine, whyNever } from '../offers/waiting-jobs.js'

/** How often the dispatcher looks for overdue jobs and silent runners, in milliseconds. */
const SWEEP_MS = 1000

/**
 * How long a runner must have been away before a job may fail for that reason, in milliseconds. Its agent dials again
 * within 30 s.
 */
const AWAY_MS = 60_000

export interface DispatcherDependencies extends Omit<JobSessionDependencies, 'closed' | 'steady'> {
  readonly log: Logger
  /** RTE_LOST_SECONDS, in milliseconds. */
  readonly lostMs: number
  /** The clock for silence; without it, one is made of `clock`. */
  readonly steady?: Clock
  /** The clock for waiting jobs; without it, the dispatcher makes its own. */
  readonly serviceClock?: ServiceClock
  /** This node among others; left out: it is the only one. */
  readonly nodes?: Nodes
}

/** Brings jobs to runners. It knows the sessions of this node, and it ends the wait of jobs that can get no runner. */
export interface Dispatcher extends RunnerPort, RunnerPresence {
  readonly openSession: OpenSession
  /** An admin decided about jobs of the runner that waited for this decision. */
  orphansDecided(runnerId: number): void
  /** A runner was revoked. Its reports are refused from now on, so its jobs are abandoned. */
  revoked(runnerId: number): Promise<void>
  close(): Promise<void>
}

export function createDispatcher(given: DispatcherDependencies): Dispatcher {
  const steady = given.steady ?? createSteadyClock(given.clock)
  const nodes = given.nodes ?? SOLE_NODE
  const dependencies = { ...given, steady }
  const { store } = dependencies
  const sessions = new Map<number, JobSession>()
  const serviceClock = given.serviceClock ?? createServiceClock({ store, steady })
  const lastSeen = createLastSeen(steady, given.lostMs)
  const isOnline = (runner: Runner) => sessions.has(runner.id) || isElsewhere(nodes, runner)
  let sweeping: Promise<void> | null = null

  const sweep = async () => {
    for (const session of sessions.values()) session.checkOffers()
    if (sessions.size > 0) {
      const offered = await findOffered(store.read)
      for (const [runnerId, session] of sessions) session.checkOffered(offered.get(runnerId) ?? [])
    }
    if (nodes.isShared && sessions.size > 0) {
      await passAbortsOn()
      // Decisions about unknown jobs of a runner here, which another node has stored.
      for (const runnerId of await findRunnersWithDecisions(store.read)) sessions.get(runnerId)?.orphansDecided()
    }
    const waitedFor = await findRunnersWaitedFor(store.read)
    const holding = await findRunnersWithRunningJobs(store.read)
    const runners = new Map<number, Runner | null>()
    for (const id of new Set([...waitedFor, ...holding])) runners.set(id, await findRunner(store.read, id))
    const isAnybodyAway = [...runners.values()].some((runner) => runner !== null && !isOnline(runner))
    lastSeen.keepOnly([...runners.keys()])
    // No wait is kept as another process's clock, and time passes only while the thing could have happened. A node that
    // cannot write now throws here, and decides nothing.
    const time = waitedFor.length > 0 || isAnybodyAway ? await serviceClock.look() : null
    lastSeen.looked()
    for (const [id, runner] of runners) if (runner !== null && isOnline(runner)) lastSeen.note(id)
    if (time !== null) for (const id of waitedFor) await lookAfterWaiting(id, runners.get(id) ?? null, time)
    for (const id of holding) {
      const runner = runners.get(id) ?? null
      if (runner === null || !isOnline(runner)) await abandonSilent({ ...dependencies, lastSeen, isOnline }, id, runner)
    }
  }

  /**
   * Looks after the jobs that wait for a runner: offers them, writes into their output what they wait for, or fails
   * them when their time is over.
   */
  async function lookAfterWaiting(id: number, runner: Runner | null, time: number): Promise<void> {
    if (runner === null || whyNever(runner) !== null) return failUnservable(dependencies, id)
    const session = sessions.get(id)
    // The node with the runner's socket offers the jobs, or writes what they wait for.
    if (!session && isElsewhere(nodes, runner)) return
    // A connection may have ended before its jobs were offered, or another node has queued them.
    if (session) session.offer()
    else await reportOffline(id)
    const isAway = lastSeen.silentFor(id) >= Math.min(AWAY_MS, dependencies.queueMs)
    const why = session ? session.whyNotTaken : isAway ? 'is not connected' : null
    if (why !== null) await failOverdue(dependencies, runner, why, time)
  }

  const report = (what: string) => (error: unknown) =>
    dependencies.log.error({ reason: messageOf(error) }, `${what} failed`)
  const sweepSoon = () => {
    sweeping ??= sweep()
      .catch(report('looking after waiting jobs'))
      .finally(() => {
        sweeping = null
      })
  }
  const timer = setInterval(sweepSoon, SWEEP_MS)

  async function reportOffline(runnerId: number): Promise<void> {
    const runner = await findRunner(store.read, runnerId)
    // The node with the runner's socket offers the jobs, or writes what they wait for.
    if (!runner || isElsewhere(nodes, runner)) return
    await writeWaitingLine(dependencies, runnerId, `Waiting for runner ${runner.name}, which is not connected`)
  }

  /** Passes on aborts that other nodes stored. A session sends each of them to its agent once. */
  async function passAbortsOn(): Promise<void> {
    for (const { id, run_id, runner_id } of await findAskedAborts(store.read)) {
      if (runner_id !== null) sessions.get(runner_id)?.abort(id, run_id)
    }
  }

  const stopListening = nodes.bus.subscribe({
    received(message) {
      if (message.topic === 'queued') sessions.get(message.runner)?.offer()
      if (message.topic === 'orphans') sessions.get(message.runner)?.orphansDecided()
      if (message.topic === 'abort') sessions.get(message.runner)?.abort(message.job, message.run)
    },
    missed: sweepSoon,
  })

  return {
    openSession(connection, capacity) {
      const session = new JobSession(connection, capacity, {
        ...dependencies,
        store: nodes.isShared ? fencedStore(store, connection) : store,
        closed: () => {
          if (sessions.get(connection.runnerId) !== session) return
          sessions.delete(connection.runnerId)
          lastSeen.note(connection.runnerId)
          // Clients have to see that its jobs are not connected any more.
          if (session.holdsJobs) given.live.changed('jobs')
        },
      })
      sessions.set(connection.runnerId, session)
      return session
    },
    jobQueued(runnerId) {
      const session = sessions.get(runnerId)
      if (session) return session.offer()
      nodes.bus.publish({ topic: 'queued', runner: runnerId })
      reportOffline(runnerId).catch(report('telling a job that its runner is offline'))
    },
    abortRequested(runnerId, jobId, runId) {
      const session = sessions.get(runnerId)
      if (session) session.abort(jobId, runId)
      else nodes.bus.publish({ topic: 'abort', runner: runnerId, job: jobId, run: runId })
    },
    orphansDecided(runnerId) {
      const session = sessions.get(runnerId)
      if (session) session.orphansDecided()
      else nodes.bus.publish({ topic: 'orphans', runner: runnerId })
    },
    async connectionsOf(runnerIds) {
      const here = runnerIds.flatMap((id): [number, number][] => {
        const epoch = sessions.get(id)?.epoch
        return epoch === undefined ? [] : [[id, epoch]]
      })
      const others = nodes.isShared ? runnerIds.filter((id) => !sessions.has(id)) : []
      const elsewhere = (await findConnectedNodes(store.read, others)).filter((runner) => isElsewhere(nodes, runner))
      return new Map([...here, ...elsewhere.map(({ id, epoch }): [number, number] => [id, epoch])])
    },
    revoked: (runnerId) => abandonHeld(dependencies, runnerId, 'an admin revoked the runner while the job ran'),
    async close() {
      clearInterval(timer)
      stopListening()
      await sweeping
    },
  }
}
