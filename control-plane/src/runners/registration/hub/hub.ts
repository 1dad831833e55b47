import { HEARTBEAT_MS } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import { type Clock, createSteadyClock } from '../../../time/clock.js'
import { messageOf } from '../../../errors.js'
import { SOLE_NODE } from '../../../nodes/nodes.js'
import { findRunner } from '../../../store/runners/runners.js'
import { createAdmission } from '../../socket/admission.js'
import type { Dialled } from '../../socket/agent-connection.js'
import type { NetworkSide } from '../../socket/agent-socket.js'
import { createHeartbeat } from '../../socket/heartbeat.js'
import { createStrangers } from '../../socket/strangers.js'
import { createDoor } from './door.js'
import { createHubPoll } from './poll.js'
import { HUB_LIMITS, type HubDependencies } from '../hub-options.js'
import { createKeyedQueue } from '@holdfast/host/queues'
import { createKnownAddresses } from '../join/join.js'
import { removeLeftRequests } from '../join/left-requests.js'
import { PresentConnections } from '../present.js'
import { createRegistry } from '../registry.js'
import { createRivals } from '../join/rivals.js'
import { type RunnerActions, createRunnerActions } from '../admin/actions.js'
import { createStatusWriter } from '../status-writer.js'
import { createTurnedAway } from '../join/turned-away.js'

/** How often the hub looks for abandoned requests and old join tokens, in milliseconds. */
const SWEEP_MS = 15_000

const WENT_BACK = 'the database went back to an earlier state: list your jobs anew'

/** The part of the control plane for runners: all their sockets and timers, and the actions on runners. */
export interface RunnerHub extends RunnerActions {
  /**
   * Takes a new WebSocket. Call it in the same tick in which the socket was opened; otherwise early messages are lost.
   */
  accept(socket: WebSocket, address: string, network: NetworkSide, dialled?: Dialled): void
  /** Brings the connections of all runners, or of one, in line with the database after another node has changed it. */
  refresh(runnerId?: number): Promise<void>
  /**
   * Removes requests whose socket has been gone for long, and old join tokens. It runs automatically every 15 seconds.
   */
  sweep(): Promise<void>
  /** Numbers for the metrics: all sockets, and accepted runners with a socket. */
  counts(): { readonly sockets: number; readonly online: number }
  /**
   * Closes every socket with `going_away`, and waits a limited time for them and for the writes that have begun. It may
   * be called again.
   */
  close(): Promise<void>
}

/**
 * These rules hold for the parts together:
 *
 * - Everything that decides about one key (hello, approve, revoke, refresh and others) runs in one queue per key. In
 *   one turn the database is asked, the row is stored, and the connection is informed.
 * - A runner has at most one registered connection: the one with the highest stored epoch. The connection that it
 *   replaces is ended before the new one gets its welcome.
 * - Changes are announced to admins after the commit, never before.
 */
export function createRunnerHub(deps: HubDependencies): RunnerHub {
  const { store, clock, random, live, log } = deps
  const limits = { ...HUB_LIMITS, ...deps.limits }
  const registry = createRegistry()
  const queue = createKeyedQueue()
  const nodes = deps.nodes ?? SOLE_NODE
  const rivals = createRivals({ store, nodes, registry, random, answerMs: limits.answerMs })
  const known = createKnownAddresses(store)
  const strangers = createStrangers(limits.strangersOfAddress, () => performance.now())
  const turnedAway = createTurnedAway(log)
  const admission = createAdmission(limits, known.has, turnedAway.turnAway)
  const displaced = (runnerId: number) => {
    refresh(runnerId).catch(sayFailed(log, 'telling a request that it had to go'))
    nodes.bus.publish({ topic: 'runner', runner: runnerId })
  }
  const parts = { ...deps, nodes, limits, registry, queue, rivals, admission, strangers, known, displaced }
  const statuses = createStatusWriter({ store, log, changed: () => live.changed('runners') })
  const present = new PresentConnections()
  const door = createDoor({ ...parts, statuses, present })
  const steady = deps.steady ?? createSteadyClock(clock)
  let closed: Promise<void> | null = null

  async function refresh(runnerId?: number): Promise<void> {
    const concerned = registry.all().filter((one) => runnerId === undefined || one.runnerId === runnerId)
    await Promise.all(
      concerned.map((connection) =>
        queue.run(connection.hello.fingerprint, async () => {
          connection.apply(await findRunner(store.read, connection.runnerId))
        }),
      ),
    )
  }

  async function sweep(): Promise<void> {
    await known.refresh()
    const gone = await removeLeftRequests(parts, clock.now(), limits.graceMs)
    if (gone.length === 0) return
    for (const runner of gone) nodes.bus.publish({ topic: 'runner', runner })
    await refresh()
    log.info({ runner_ids: gone }, 'requests to join were removed: their runners have left')
    live.changed('runners')
  }

  // Half of the time is left for the runners to find another node before their jobs are abandoned.
  const letGoMs = (deps.lostMs ?? Infinity) / 2
  const poll = createHubPoll({ store, nodes, registry, queue, log, refresh, steady, letGoMs })
  const heartbeat = createHeartbeat(
    deps.heartbeatMs ?? HEARTBEAT_MS,
    () => registry.all().map((connection) => connection.socket),
    (socket) => socket.close('heartbeat_lost', 'nothing came for two heartbeats'),
  )
  const sweepTimer = sweepAfter(steady, limits.graceMs, () => sweep().catch(sayFailed(log, 'the sweep of requests')))
  // What a runner was told about its jobs may not be stored any more. So each one comes back and lists its jobs anew.
  nodes.onWentBack(() => {
    for (const connection of registry.all()) connection.close('going_away', WENT_BACK)
  })
  known.refresh().catch(sayFailed(log, 'reading the addresses of approved runners'))

  return {
    ...createRunnerActions(parts),
    accept: door.accept,
    refresh,
    sweep,
    counts: () => ({ sockets: present.size, online: registry.all().length }),
    close: () => (closed ??= close()),
  }

  async function close(): Promise<void> {
    clearInterval(sweepTimer)
    turnedAway.close()
    door.close()
    await present.closeAll(limits.closeMs)
    heartbeat.close()
    rivals.close()
    await poll.close()
    await queue.idle()
    await statuses.close()
  }
}

/** Sweeps regularly. Runners that waited for an approval when this node stopped get the usual time to come back. */
function sweepAfter(steady: Clock, graceMs: number, sweep: () => Promise<void>): NodeJS.Timeout {
  const startedAt = steady.now()
  const timer = setInterval(() => {
    if (steady.now() - startedAt >= graceMs) void sweep()
  }, SWEEP_MS)
  return timer.unref()
}

function sayFailed(log: Logger, what: string): (error: unknown) => void {
  return (error) => log.warn({ err: error }, `${what} failed: ${messageOf(error)}`)
}
