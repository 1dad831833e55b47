import { type Clock, createSteadyClock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import type { RunnerPort, RunnerPresence } from '../../jobs/job-port.js'
import { type Nodes, SOLE_NODE, isElsewhere } from '../../nodes/nodes.js'
import { type ServiceClock, createServiceClock } from '../../nodes/service-clock.js'
import { findConnectedNodes, findRefusedCopies } from '../../store/runners/runners.js'
import type { OpenSession } from '../socket/connection.js'
import { fencedStore } from '../socket/fenced-store.js'
import { createDispatchSweep } from './dispatch-sweep.js'
import { JobSession, type SessionNeeds } from './job-session.js'
import { type LastSeen, createLastSeen } from './last-seen.js'
import { abandonHeld } from './silence.js'

/** How often the dispatcher looks for overdue jobs and silent runners, in milliseconds. */
const SWEEP_MS = 1000

/** What the dispatcher needs of other parts. */
export interface DispatcherDependencies extends SessionNeeds {
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

/** Makes the {@link Dispatcher} of this node. It begins to look after waiting jobs at once. */
export function createDispatcher(given: DispatcherDependencies): Dispatcher {
  const steady = given.steady ?? createSteadyClock(given.clock)
  const nodes = given.nodes ?? SOLE_NODE
  const { store, log } = given
  const dependencies = { ...given, steady, nodes }
  const sessions = new Map<number, JobSession>()
  const lastSeen = createLastSeen(steady, given.lostMs)
  const serviceClock = given.serviceClock ?? createServiceClock({ store, steady })
  const sweep = createDispatchSweep({ ...dependencies, sessions, lastSeen, serviceClock })
  let sweeping: Promise<void> | null = null

  const report = (what: string) => (error: unknown) => log.error({ reason: messageOf(error) }, `${what} failed`)
  const sweepSoon = () => {
    sweeping ??= sweep
      .sweep()
      .catch(report('looking after waiting jobs'))
      .finally(() => {
        sweeping = null
      })
  }
  const timer = setInterval(sweepSoon, SWEEP_MS)
  const stopListening = nodes.bus.subscribe({
    received(message) {
      if (message.topic === 'queued') sessions.get(message.runner)?.offer()
      if (message.topic === 'orphans') sessions.get(message.runner)?.orphansDecided()
      if (message.topic === 'abort') sessions.get(message.runner)?.abort(message.job, message.run)
    },
    missed: sweepSoon,
  })

  return {
    openSession: (connection, capacity) => openSession({ ...dependencies, sessions, lastSeen }, connection, capacity),
    jobQueued(runnerId) {
      const session = sessions.get(runnerId)
      if (session) return session.offer()
      nodes.bus.publish({ topic: 'queued', runner: runnerId })
      sweep.reportOffline(runnerId).catch(report('telling a job that its runner is offline'))
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
    refusedCopiesOf: async (runnerIds) =>
      new Map((await findRefusedCopies(store.read, runnerIds)).map(({ id, host }) => [id, host])),
    revoked: (runnerId) => abandonHeld(dependencies, runnerId, 'an admin revoked the runner while the job ran'),
    async close() {
      clearInterval(timer)
      stopListening()
      await sweeping
    },
  }
}

/** Begins the session of a connection. It is forgotten with the connection, unless a newer one has taken its place. */
function openSession(
  deps: SessionNeeds & {
    readonly sessions: Map<number, JobSession>
    readonly lastSeen: LastSeen
    readonly nodes: Nodes
    readonly steady: Clock
  },
  connection: Parameters<OpenSession>[0],
  capacity: Parameters<OpenSession>[1],
): JobSession {
  const { sessions, lastSeen, nodes, store } = deps
  const session = new JobSession(connection, capacity, {
    ...deps,
    store: nodes.isShared ? fencedStore(store, connection) : store,
    closed: () => {
      if (sessions.get(connection.runnerId) !== session) return
      sessions.delete(connection.runnerId)
      lastSeen.note(connection.runnerId)
      // Clients have to see that its jobs are not connected any more.
      if (session.holdsJobs) deps.live.changed('jobs')
    },
  })
  sessions.set(connection.runnerId, session)
  return session
}
