import { type CloseReasonName, NEWEST_CONTRACT, ProtocolError, type ServerMessage } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { WebSocket } from 'ws'
import { messageOf } from '../../errors.js'
import type { RunnerStatus } from '../../store/runners/runner-status.js'
import type { Runner } from '../../store/runners/runners.js'
import { AgentSocket, type Incoming, type NetworkSide } from './agent-socket.js'
import { BlobSender } from './blob-sender.js'
import { capacityOf, sameCapacity } from './capacity.js'
import type { OpenSession, RunnerCapacity, RunnerConnection, RunnerSession } from './connection.js'
import type { Handshake, ProvenHello } from './handshake.js'
import { readIncoming } from './incoming.js'
import { type StatusMessage, statusOf } from './reported.js'

/** Most messages that are kept while a hello is being decided. A correct agent sends none before its welcome. */
const MAX_EARLY_MESSAGES = 100

/** The text of the close when a newer connection takes over. */
export const TAKEN_OVER_TEXT = 'a newer connection of this runner took the socket over'

/** The settings of an admin for a runner that this side dialled. */
export interface Dialled {
  /** The id of the dialled address. */
  readonly addressId: number
  /** The name that the runner must have; null: any name. */
  readonly name: string | null
  /** The only key that may answer; null: any. */
  readonly fingerprint: string | null
}

/** What a connection needs of the hub. */
export interface ConnectionOwner {
  readonly log: Logger
  readonly heartbeatMs: number
  readonly openSession: OpenSession
  /** The signature of a hello is right. The owner answers with `accept` or `close`. */
  proven(connection: AgentConnection): void
  /** An accepted runner reported its status. Returns the status as it is stored. */
  reported(connection: AgentConnection, message: StatusMessage): RunnerStatus
  ended(connection: AgentConnection): void
  gone(connection: AgentConnection): void
}

/**
 * One connection of one agent, from the challenge to the end:
 *
 *   challenged the challenge is sent; the first message must be the greeting, and is answered with the proof
 *   greeting   from here on everything is sealed; the first message must be the hello
 *   deciding   the hello is proven, the database is asked; the socket is paused, what still arrives is kept in order
 *   waiting    accepted, but only `status` may come
 *   approved   a session handles the job traffic
 *   ended      closed by either side; whatever still arrives is ignored
 *
 * Phases only go down this list. `accept` and `apply` are called by the hub, one at a time for each key, with the row
 * as it was just stored; applying the same row twice changes nothing.
 */
export class AgentConnection implements RunnerConnection {
  readonly socket: AgentSocket
  #phase: 'challenged' | 'greeting' | 'deciding' | 'waiting' | 'approved' | 'ended' = 'challenged'
  #early: Incoming[] = []
  #hello: ProvenHello | null = null
  #runner: Runner | null = null
  #status: RunnerStatus | null = null
  #session: RunnerSession | null = null
  #capacity: RunnerCapacity | null = null
  #blobs: BlobSender | null = null

  constructor(
    private readonly owner: ConnectionOwner,
    webSocket: WebSocket,
    network: NetworkSide,
    readonly address: string,
    private readonly handshake: Handshake,
    /** Null: the agent dialled. */
    readonly dialled: Dialled | null = null,
  ) {
    this.socket = new AgentSocket(
      webSocket,
      network,
      {
        message: (message) => this.#received(message),
        ended: () => this.#ended(),
        gone: () => owner.gone(this),
      },
      owner.heartbeatMs,
    )
  }

  get phase() {
    return this.#phase
  }

  /** True from `accept` on, also after the end. */
  get accepted(): boolean {
    return this.#runner !== null
  }

  /** True once the hello was right, also after the end. */
  get proven(): boolean {
    return this.#hello !== null
  }

  /** @throws Error before the hello was proven */
  get hello(): ProvenHello {
    if (!this.#hello) throw new Error('there was no hello yet')
    return this.#hello
  }

  /** @throws Error before `accept` */
  get runner(): Runner {
    if (!this.#runner) throw new Error('the runner is not accepted yet')
    return this.#runner
  }

  /** The newest status that the agent reported. @throws Error before `accept` */
  get status(): RunnerStatus {
    return this.#status ?? statusOf(this.runner)
  }

  get runnerId(): number {
    return this.runner.id
  }

  get runnerName(): string {
    return this.runner.name
  }

  get fingerprint(): string {
    return this.runner.fingerprint
  }

  get keys(): readonly [string, ...string[]] {
    return [this.fingerprint, ...this.hello.ancestors]
  }

  get sealingKey(): string {
    return this.runner.sealingKey
  }

  get epoch(): number {
    return this.runner.epoch
  }

  /** Sends the first message of the connection. */
  challenge(): void {
    this.socket.sendText(this.handshake.challenge)
  }

  send(message: ServerMessage): void {
    this.socket.sendText(JSON.stringify(message))
  }

  sendBlob(sha256: string, size: number, source: AsyncIterable<Buffer>, from?: number): Promise<void> {
    this.#blobs ??= new BlobSender(this.socket)
    return this.#blobs.send(sha256, size, source, from)
  }

  pause(): void {
    this.socket.pause('session')
  }

  resume(): void {
    this.socket.resume('session')
  }

  close(reason: CloseReasonName, text: string): void {
    this.socket.close(reason, text)
  }

  /**
   * The hello was accepted and its epoch is stored. Sends the welcome to the agent, and handles what the agent has sent
   * since.
   */
  accept(runner: Runner): void {
    if (this.#phase !== 'deciding') return
    this.#runner = runner
    this.#phase = 'waiting'
    const state = runner.state === 'approved' ? 'approved' : 'waiting'
    const { epoch, maxJobs } = runner
    this.send({
      type: 'welcome',
      state,
      epoch,
      max_jobs: maxJobs,
      heartbeat_ms: this.owner.heartbeatMs,
      speaks: NEWEST_CONTRACT,
    })
    if (state === 'approved') this.#openSession()
    const early = this.#early
    this.#early = []
    for (const message of early) this.#received(message)
    this.socket.resume('deciding')
  }

  /** Brings the connection in line with the runner's row; null: the row is gone. */
  apply(runner: Runner | null): void {
    if (this.#phase !== 'waiting' && this.#phase !== 'approved') return
    if (runner === null) {
      this.close(this.#phase === 'waiting' ? 'rejected' : 'removed', 'the runner was removed; it may ask again')
      return
    }
    if (runner.state === 'revoked' || runner.state === 'denied') {
      this.close(runner.state, `the runner is ${runner.state}`)
      return
    }
    const before = this.runner
    if (runner.epoch > before.epoch) {
      this.close('taken_over', TAKEN_OVER_TEXT)
      return
    }
    this.#runner = runner
    const approvedNow = this.#phase === 'waiting' && runner.state === 'approved'
    if (approvedNow || before.maxJobs !== runner.maxJobs) {
      this.send({ type: 'settings', state: approvedNow ? 'approved' : this.#phase, max_jobs: runner.maxJobs })
    }
    if (approvedNow) this.#openSession()
    else this.#sendCapacity()
  }

  #openSession(): void {
    if (this.socket.ended) return
    this.#phase = 'approved'
    this.socket.approved()
    const capacity = capacityOf(this.runner, this.status)
    this.#capacity = capacity
    this.#guard(() => {
      const session = this.owner.openSession(this, capacity)
      // The session may have closed its connection during its creation.
      if (this.socket.ended) session.closed()
      else this.#session = session
    })
  }

  #received(message: Incoming): void {
    if (this.#phase === 'challenged') this.#guard(() => this.#challenged(message))
    else if (this.#phase === 'greeting') this.#guard(() => this.#greeted(message))
    else if (this.#phase === 'deciding') this.#keep(message)
    else if (this.#phase !== 'ended') this.#guard(() => this.#dispatch(message))
  }

  #challenged(message: Incoming): void {
    const proof = this.handshake.answer(message)
    this.send(proof.message)
    this.socket.protect(proof.channel)
    this.#phase = 'greeting'
  }

  #greeted(message: Incoming): void {
    this.#hello = this.handshake.readHello(message)
    this.#phase = 'deciding'
    this.socket.greeted()
    this.socket.pause('deciding')
    this.owner.proven(this)
  }

  #keep(message: Incoming): void {
    // The pause stops reading from the network. Messages that the socket had read before still arrive.
    if (this.#early.push(message) > MAX_EARLY_MESSAGES) {
      this.close('before_handshake', 'too many messages came before the welcome')
    }
  }

  #dispatch(incoming: Incoming): void {
    const what = readIncoming(incoming)
    if (what.kind === 'status') {
      this.#status = this.owner.reported(this, what.message)
      this.#sendCapacity()
      return
    }
    if (!this.#session) throw new ProtocolError('not_approved', 'a waiting runner sent more than its status')
    if (what.kind === 'message') this.#session.message(what.message)
    else if (what.frame.epoch === this.epoch) this.#session.frame(what.frame)
  }

  #sendCapacity(): void {
    if (!this.#session) return
    const now = capacityOf(this.runner, this.status)
    if (this.#capacity && sameCapacity(this.#capacity, now)) return
    this.#capacity = now
    this.#guard(() => this.#session?.capacityChanged(now))
  }

  #ended(): void {
    this.#phase = 'ended'
    this.#early = []
    const session = this.#session
    this.#session = null
    this.#guard(() => session?.closed())
    this.owner.ended(this)
  }

  /** An error in one message ends this connection only. */
  #guard(action: () => void): void {
    try {
      action()
    } catch (error) {
      const who = { runner: this.#runner?.name, ip: this.address }
      if (error instanceof ProtocolError) {
        this.owner.log.warn({ ...who, reason: error.reason, detail: error.message }, 'runner broke the contract')
        this.close(error.reason, error.message)
      } else {
        this.owner.log.error({ ...who, err: error }, `failed over a runner's message: ${messageOf(error)}`)
        this.close('internal_error', 'the control plane failed over a message')
      }
    }
  }
}
