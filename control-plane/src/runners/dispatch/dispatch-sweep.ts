import { type Nodes, isElsewhere } from '../../nodes/nodes.js'
import type { ServiceClock } from '../../nodes/service-clock.js'
import {
  findAskedAborts,
  findOffered,
  findRunnersWaitedFor,
  findRunnersWithRunningJobs,
} from '../../store/jobs/dispatch.js'
import { findRunnersWithDecisions } from '../../store/jobs/orphans.js'
import { type Runner, findRunner } from '../../store/runners/runners.js'
import {
  type WaitingDependencies,
  failOverdue,
  failUnservable,
  writeWaitingLine,
  whyNever,
} from '../offers/waiting-jobs.js'
import type { JobSession } from './job-session.js'
import type { LastSeen } from './last-seen.js'
import { abandonSilent } from './silence.js'

/**
 * How long a runner must have been away before a job may fail for that reason, in milliseconds. Its agent dials again
 * within 30 s.
 */
const AWAY_MS = 60_000

/** What the sweep needs of other parts. */
export interface DispatchSweepDependencies extends WaitingDependencies {
  /** RTE_LOST_SECONDS, in milliseconds. */
  readonly lostMs: number
  readonly nodes: Nodes
  readonly serviceClock: ServiceClock
  readonly lastSeen: LastSeen
  /** The sessions of this node by the id of their runner. */
  readonly sessions: Map<number, JobSession>
}

/**
 * Makes the regular work of the dispatcher. It finds offers, aborts, waits and silence that nobody reported. It does
 * nothing until `sweep` is called.
 */
export function createDispatchSweep(dependencies: DispatchSweepDependencies) {
  const { store, nodes, sessions, lastSeen, serviceClock } = dependencies
  const isOnline = (runner: Runner) => sessions.has(runner.id) || isElsewhere(nodes, runner)

  async function sweep(): Promise<void> {
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
    // No wait depends on the clock of another process. Time counts only while a control plane was able to work. A node
    // that cannot write now throws here, and decides nothing.
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

  /** Writes into the waiting jobs of a runner that it is not connected. */
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

  return { sweep, reportOffline }
}
