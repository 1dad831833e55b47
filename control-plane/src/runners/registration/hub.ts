import { TLSSocket } from 'node:tls'
import { HEARTBEAT_MS } from '@holdfast/protocol'
import type { WebSocket } from 'ws'
import { createSteadyClock } from '../../clock.js'
import { messageOf } from '../../errors.js'
import { SOLE_NODE, isElsewhere } from '../../nodes/nodes.js'
import { deleteJoinTokensBefore } from '../../store/runners/join-tokens.js'
import { deletePastRunsBefore } from '../../store/jobs/orphans.js'
import { deleteLeftRequests, findRunner, listWaitingRunners } from '../../store/runners/runners.js'
import { type AdmissionStage, createAdmission } from '../socket/admission.js'
import { AgentConnection, type ConnectionOwner } from '../socket/agent-connection.js'
import type { NetworkSide } from '../socket/agent-socket.js'
import { Handshake } from '../socket/handshake.js'
import { createHeartbeat } from '../socket/heartbeat.js'
import { createHubPoll } from './hub-poll.js'
import { HUB_LIMITS, type HubOptions } from './hub-options.js'
import { join } from './join-runner.js'
import { createKeyedQueue } from './keyed-queue.js'
import { createKnownAddresses } from './known-addresses.js'
import { createRegistry } from './registry.js'
import { createRivals } from './rivals.js'
import { newsIn, reportedStatus } from '../socket/reported.js'
import { type RunnerActions, createRunnerActions } from './runner-actions.js'
import { createStatusWriter } from './status-writer.js'
import { createStrangers } from '../socket/strangers.js'

/** How often the hub looks for abandoned requests and old join tokens, in milliseconds. */
const SWEEP_MS = 15_000

/** How often the log says at most that too many unknown agents connect, in milliseconds. */
const TELL_MS = 10_000

/**
 * How long a join token stays in the list after its time, in milliseconds. So admins can see for a while who joined by
 * it.
 */
const TOKEN_MEMORY_MS = 30 * 24 * 60 * 60 * 1000

/** How long the run of a deleted job is remembered, in milliseconds: as long as a runner remembers its runs. */
const PAST_RUN_MEMORY_MS = 90 * 24 * 60 * 60 * 1000

/** The part of the control plane that has the runners: every socket and timer of theirs, and the actions on runners. */
export interface RunnerHub extends RunnerActions {
  /**
   * Takes a new WebSocket. Call it in the same tick in which the socket was opened; otherwise early messages are lost.
   */
  accept(socket: WebSocket, address: string, network: NetworkSide): void
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
export function createRunnerHub(options: HubOptions): RunnerHub {
  const { store, clock, random, live, log, version } = options
  const limits = { ...HUB_LIMITS, ...options.limits }
  const heartbeatMs = options.heartbeatMs ?? HEARTBEAT_MS
  const registry = createRegistry()
  const queue = createKeyedQueue()
  const nodes = options.nodes ?? SOLE_NODE
  const rivals = createRivals({ store, nodes, registry, random, answerMs: limits.answerMs })
  const known = createKnownAddresses(store)
  const strangers = createStrangers(limits.strangersOfAddress, () => performance.now())
  const admission = createAdmission(limits, known.has, turnAway)
  const displaced = (runnerId: number) => {
    refresh(runnerId).catch(sayFailed('telling a request that it had to go'))
    nodes.bus.publish({ topic: 'runner', runner: runnerId })
  }
  const parts = { ...options, nodes, limits, registry, queue, rivals, admission, strangers, known, displaced }
  const statuses = createStatusWriter({ store, log, changed: () => live.changed('runners') })
  /** Every connection that still exists on the network. */
  const present = new Set<AgentConnection>()
  /** The connections whose hello has not come yet, with the timer that ends the wait. */
  const greetings = new Map<AgentConnection, NodeJS.Timeout>()
  let turnedAway = { count: 0, telling: null as NodeJS.Timeout | null }
  let closing: { emptied: () => void } | null = null
  let closed: Promise<void> | null = null

  const owner: ConnectionOwner = {
    log,
    heartbeatMs,
    openSession: options.openSession,
    proven(connection) {
      noLongerGreets(connection)
      admission.enter(connection, 'checking')
      const { fingerprint, ancestors } = connection.hello
      void inTurnOf([fingerprint, ...ancestors], () => join(parts, connection))
        .catch((error: unknown) => {
          log.error({ ip: connection.address, err: error }, `taking a runner in failed: ${messageOf(error)}`)
          connection.close('internal_error', 'the control plane failed over the hello')
        })
        .finally(() => admission.leave(connection))
    },
    reported(connection, message) {
      const status = reportedStatus(message, clock.now())
      const { urgent, visible } = newsIn(connection.status, status)
      // A runner that waits for approval is offered nothing, so nothing that it reports is urgent.
      const isUrgent = urgent && connection.phase === 'approved'
      statuses.note(connection.runnerId, connection.epoch, status, { urgent: isUrgent, visible })
      return status
    },
    ended(connection) {
      noLongerGreets(connection)
      admission.leave(connection)
      strangers.ended(connection)
      if (!registry.remove(connection)) return
      const { runnerId, epoch, status } = connection
      const last = { ...status, lastSeen: clock.now() }
      statuses.note(runnerId, epoch, last, { urgent: true, visible: true, over: true })
      const reason = connection.socket.endedBecause
      log.info({ runner: connection.runnerName, ip: connection.address, epoch, reason }, 'runner disconnected')
      live.changed('runners')
    },
    gone(connection) {
      present.delete(connection)
      if (present.size === 0) closing?.emptied()
    },
  }

  /**
   * Runs a task in the queues of several keys. The order of the keys is always the same, so that no two tasks wait for
   * each other.
   */
  function inTurnOf(keys: readonly string[], task: () => Promise<void>): Promise<void> {
    const inner = [...new Set(keys)].sort().reduce((next, key) => () => queue.run(key, next), task)
    return inner()
  }

  function accept(socket: WebSocket, address: string, network: NetworkSide): void {
    const handshake = new Handshake({
      random,
      version,
      time: clock.now(),
      service: options.service,
      tls: network instanceof TLSSocket ? network : null,
    })
    const connection = new AgentConnection(owner, socket, network, address, handshake)
    present.add(connection)
    if (closing) {
      connection.close('going_away', 'the control plane stops')
      return
    }
    const timer = setTimeout(
      () => connection.close('handshake_timeout', `no hello within ${limits.helloMs} ms`),
      limits.helloMs,
    )
    greetings.set(connection, timer)
    admission.enter(connection, 'greeting')
    connection.challenge()
  }

  function noLongerGreets(connection: AgentConnection): void {
    clearTimeout(greetings.get(connection))
    greetings.delete(connection)
  }

  /**
   * Logs that there are too many unknown agents. It logs only once in a while, because they choose how many they are.
   */
  function turnAway(connection: AgentConnection, stage: AdmissionStage): void {
    connection.close('too_many_waiting', 'too many connections are in their handshake')
    turnedAway.count += 1
    if (turnedAway.telling) return
    log.warn({ ip: connection.address, stage }, 'connections of strangers have to go: too many are in their handshake')
    turnedAway.telling = setTimeout(() => {
      const { count } = turnedAway
      turnedAway = { count: 0, telling: null }
      if (count > 1) log.warn({ connections: count }, 'so many connections of strangers had to go')
    }, TELL_MS)
    turnedAway.telling.unref()
  }

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
    const now = clock.now()
    await known.refresh()
    const left = (await listWaitingRunners(store.read)).filter(
      (one) => one.keptBy === null && registry.find(one) === null && !isElsewhere(nodes, one),
    )
    const gone = await store.write('runners.sweep', async (queries) => {
      await deleteJoinTokensBefore(queries, now - TOKEN_MEMORY_MS)
      await deletePastRunsBefore(queries, now - PAST_RUN_MEMORY_MS)
      if (left.length === 0) return []
      return deleteLeftRequests(
        queries,
        left.map((one) => one.id),
        now - limits.graceMs,
      )
    })
    if (gone.length === 0) return
    for (const runner of gone) nodes.bus.publish({ topic: 'runner', runner })
    await refresh()
    log.info({ runner_ids: gone }, 'requests to join were removed: their runners have left')
    live.changed('runners')
  }

  function sayFailed(what: string): (error: unknown) => void {
    return (error) => log.warn({ err: error }, `${what} failed: ${messageOf(error)}`)
  }

  const steady = options.steady ?? createSteadyClock(clock)
  const startedAt = steady.now()
  const poll = createHubPoll({
    store,
    nodes,
    registry,
    queue,
    log,
    refresh,
    steady,
    // In time, so that the runners find another node before their jobs are abandoned.
    letGoMs: (options.lostMs ?? Infinity) / 2,
  })
  const heartbeat = createHeartbeat(
    heartbeatMs,
    () => registry.all().map((connection) => connection.socket),
    (socket) => socket.close('heartbeat_lost', 'nothing came for two heartbeats'),
  )
  const sweepTimer = setInterval(() => {
    // Runners that waited for approval when this node stopped have the same time to come back as all others.
    if (steady.now() - startedAt >= limits.graceMs) sweep().catch(sayFailed('the sweep of requests'))
  }, SWEEP_MS)
  sweepTimer.unref()
  known.refresh().catch(sayFailed('reading the addresses of approved runners'))

  return {
    ...createRunnerActions(parts),
    accept,
    refresh,
    sweep,
    counts: () => ({ sockets: present.size, online: registry.all().length }),
    close: () => (closed ??= close()),
  }

  async function close(): Promise<void> {
    clearInterval(sweepTimer)
    if (turnedAway.telling) clearTimeout(turnedAway.telling)
    const emptied = new Promise<void>((resolve) => (closing = { emptied: resolve }))
    for (const connection of [...present]) connection.close('going_away', 'the control plane stops or restarts')
    if (present.size > 0) await within(emptied, limits.closeMs)
    for (const connection of present) connection.socket.cut('it does not close')
    if (present.size > 0) await within(emptied, limits.closeMs)
    heartbeat.close()
    rivals.close()
    await poll.close()
    await queue.idle()
    await statuses.close()
  }
}

async function within(done: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, milliseconds)))
  await Promise.race([done, patience])
  clearTimeout(timer)
}
