import { TLSSocket } from 'node:tls'
import { HEARTBEAT_MS } from '@holdfast/protocol'
import type { WebSocket } from 'ws'
import { messageOf } from '../../../errors.js'
import { AgentConnection, type ConnectionOwner, type Dialled } from '../../socket/agent-connection.js'
import type { NetworkSide } from '../../socket/agent-socket.js'
import { Handshake } from '../../socket/handshake.js'
import { newsIn, reportedStatus } from '../../socket/reported.js'
import type { HubDependencies } from '../hub-options.js'
import { type JoinDependencies, join } from '../join/join.js'
import type { KeyedQueue } from '@holdfast/host/queues'
import type { PresentConnections } from '../present.js'
import type { StatusWriter } from '../status-writer.js'

/** What the door needs of other parts. */
export interface DoorDependencies extends Omit<HubDependencies, 'limits' | 'nodes'>, JoinDependencies {
  readonly queue: KeyedQueue
  readonly statuses: StatusWriter
  readonly present: PresentConnections
}

/** Takes new sockets, greets them, and follows each connection to its end. */
export interface Door {
  /**
   * Takes a new WebSocket. Call it in the same tick in which the socket was opened.
   * @param dialled set when this side dialled the agent
   */
  accept(socket: WebSocket, address: string, network: NetworkSide, dialled?: Dialled): void
  /** From now on every new socket gets the message that the control plane stops. */
  close(): void
}

/** Makes the door. It is open. */
export function createDoor(deps: DoorDependencies): Door {
  const { clock, present, admission } = deps
  const owner = createOwner(deps)
  let isClosed = false
  return {
    accept(socket, address, network, dialled) {
      const handshake = new Handshake({
        random: deps.random,
        version: deps.version,
        time: clock.now(),
        service: deps.service,
        tls: network instanceof TLSSocket ? network : null,
      })
      const connection = new AgentConnection(owner, socket, network, address, handshake, dialled ?? null)
      present.add(connection)
      if (isClosed) {
        connection.close('going_away', 'the control plane stops')
        return
      }
      present.greet(connection, deps.limits.helloMs)
      admission.enter(connection, 'greeting')
      connection.challenge()
    },
    close() {
      isClosed = true
    },
  }
}

/** The events of a connection: its proven hello, its reports, its end. */
function createOwner(deps: DoorDependencies): ConnectionOwner {
  const { clock, live, log, present, admission, strangers, registry, statuses } = deps
  return {
    log,
    heartbeatMs: deps.heartbeatMs ?? HEARTBEAT_MS,
    openSession: deps.openSession,
    proven(connection) {
      present.noLongerGreets(connection)
      admission.enter(connection, 'checking')
      const { fingerprint, ancestors } = connection.hello
      const objection = objectionTo(connection, registry.of(fingerprint))
      if (objection !== null) {
        connection.close('denied', objection)
        return
      }
      void inTurnOf(deps.queue, [fingerprint, ...ancestors], () => join(deps, connection))
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
      present.noLongerGreets(connection)
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
    gone: (connection) => present.gone(connection),
  }
}

/** Why a dialled runner is not accepted, in one sentence. Null: it is accepted. */
function objectionTo({ dialled, hello }: AgentConnection, present: AgentConnection | null): string | null {
  if (dialled === null) return null
  const { fingerprint: expected, name, addressId } = dialled
  if (expected !== null && ![hello.fingerprint, ...hello.ancestors].includes(expected)) {
    return 'the runner at this address has another key than the admin named'
  }
  if (name !== null && hello.payload.name !== name) {
    return `the runner at this address is called ${hello.payload.name}, and not ${name} as the admin named it`
  }
  // Two addresses of one runner would take its socket from each other for ever.
  const isOther = present?.dialled && !present.socket.ended && present.dialled.addressId !== addressId
  return isOther ? 'this runner is connected by another of its addresses' : null
}

/**
 * Runs a task in the queues of several keys. The order of the keys is always the same, so that no two tasks wait for
 * each other.
 */
function inTurnOf(queue: KeyedQueue, keys: readonly string[], task: () => Promise<void>): Promise<void> {
  const inner = [...new Set(keys)].sort().reduce((next, key) => () => queue.run(key, next), task)
  return inner()
}
