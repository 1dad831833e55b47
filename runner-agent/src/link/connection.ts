import {
  type AgentMessage,
  type BlobFrame,
  CLOSE_REASONS,
  type CloseReasonName,
  closeReasonOf,
  closeText,
  decodeFrame,
  encodeFrame,
  MAX_SOCKET_MESSAGE_BYTES,
  parseServerMessage,
  ProtocolError,
  type SealedChannel,
  type ServerMessage,
  type StreamFrame,
  SUBPROTOCOL,
  type TlsExporter,
} from '@holdfast/protocol'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { type RawData, WebSocket } from 'ws'
import { adviceFor } from './way-problem.js'
import { describeError } from '../log.js'
import type { AgentHandshake, Proof } from './handshake.js'
import { watchHeartbeat } from './heartbeat.js'
import { ProxyAgent } from './proxy.js'

/** Longest time from dialling to the welcome, and from our close to its answer. */
const HANDSHAKE_MS = 15_000
const CLOSE_MS = 1_000

/** The last message of the handshake. */
export type Welcome = Extract<ServerMessage, { type: 'welcome' }>
/** The messages that may come after the welcome. */
export type WorkMessage = Exclude<ServerMessage, Welcome | Proof | { type: 'challenge' }>

/** How to dial the control plane. */
export interface ConnectionDependencies {
  readonly address: string
  readonly tlsVerify: boolean
  /** The proxy to dial through, or null. */
  readonly proxy: URL | null
  /** Makes the handshake of one connection. */
  readonly handshake: () => AgentHandshake
}

/** What a connection tells its owner. */
export interface ConnectionEvents {
  welcome(welcome: Welcome, connection: Connection): void
  message(message: WorkMessage): void
  blob(frame: BlobFrame): void
  /** It is time to show the control plane that this agent is alive. */
  heartbeat(connection: Connection): void
}

/** How a connection ended. */
export interface ConnectionEnd {
  readonly welcomed: boolean
  /** True: the other side proved that it is the control plane to obey. */
  readonly proven: boolean
  /** The reason as the protocol names it; null: the network was lost, a proxy refused, or no control plane is there. */
  readonly reason: CloseReasonName | null
  /** One sentence for the log. */
  readonly text: string
}

/** One connection to the control plane. */
export interface Connection {
  readonly open: boolean
  readonly epoch: number
  bufferedBytes(): number
  send(message: AgentMessage): void
  sendFrame(frame: Omit<StreamFrame, 'kind' | 'epoch'>, flushed: () => void): void
  /** Shows that this agent is alive, without a message. */
  ping(): void
  close(reason: CloseReasonName, text?: string): void
  /** Resolves once, whatever happens. */
  readonly ended: Promise<ConnectionEnd>
}

/**
 * One connection from dialling to its end. Its states, and what the control plane may send in each:
 *
 *   dialling    the challenge; answered with the greeting
 *   greeting    the proof; answered with the hello, once it is good and its key is one to obey
 *   proven      the welcome; from here on everything is sealed
 *   welcomed    everything else
 *   closed      nothing; also while our own close is not answered yet
 */
type State = 'dialling' | 'greeting' | 'proven' | 'welcomed' | 'closed'

/** Dials the control plane. */
export function openConnection(deps: ConnectionDependencies, events: ConnectionEvents): Connection {
  const { address, tlsVerify, proxy } = deps
  const socket = new WebSocket(address, SUBPROTOCOL, {
    perMessageDeflate: false,
    maxPayload: MAX_SOCKET_MESSAGE_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
    rejectUnauthorized: tlsVerify,
    ...(proxy ? { agent: new ProxyAgent(proxy) } : {}),
  })
  return followConnection(socket, null, deps.handshake(), events)
}

/**
 * Follows a socket to its end, whoever dialled. The handshake is the same: the control plane begins it.
 * @param accepted the network below a socket that came in; null: the socket is dialled, and its network comes with it
 */
export function followConnection(
  socket: WebSocket,
  accepted: Pick<Socket, 'bytesRead'> | null,
  handshake: AgentHandshake,
  events: ConnectionEvents,
): Connection {
  return new SocketConnection(socket, accepted, handshake, events)
}

class SocketConnection implements Connection {
  readonly ended: Promise<ConnectionEnd>
  readonly #socket: WebSocket
  readonly #handshake: AgentHandshake
  readonly #events: ConnectionEvents
  readonly #timers = new Set<NodeJS.Timeout>()
  /** The network below the socket; null until the dialled socket has one. */
  #network: Pick<Socket, 'bytesRead'> | null
  #tls: TlsExporter | null = null
  #channel: SealedChannel | null = null
  #state: State = 'dialling'
  #epoch = 0
  #welcomed = false
  #failure: { reason: CloseReasonName | null; text: string } | null = null
  #stopWatching = (): void => undefined

  constructor(
    socket: WebSocket,
    accepted: Pick<Socket, 'bytesRead'> | null,
    handshake: AgentHandshake,
    events: ConnectionEvents,
  ) {
    this.#socket = socket
    this.#network = accepted
    this.#handshake = handshake
    this.#events = events
    this.ended = new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        resolve(this.#end(code, reason))
      })
    })
    this.#after(HANDSHAKE_MS, () => {
      this.#drop('handshake_timeout', 'the control plane did not complete the handshake in time')
    })
    socket.once('upgrade', (response) => {
      this.#network = response.socket
      if (response.socket instanceof TLSSocket) this.#tls = response.socket
    })
    socket.on('error', (error) => {
      this.#failure ??= { reason: null, text: wordsOf(error) }
    })
    socket.on('message', (data, isBinary) => {
      this.#takeSafely(data, isBinary)
    })
  }

  get open(): boolean {
    return this.#state === 'welcomed' && this.#socket.readyState === WebSocket.OPEN
  }

  get epoch(): number {
    return this.#epoch
  }

  bufferedBytes(): number {
    return this.#socket.bufferedAmount
  }

  send(message: AgentMessage): void {
    if (this.#channel === null || this.#socket.readyState !== WebSocket.OPEN) return
    this.#socket.send(this.#channel.seal(JSON.stringify(message)))
  }

  sendFrame(frame: Omit<StreamFrame, 'kind' | 'epoch'>, flushed: () => void): void {
    // A failed write also ends the socket, and the failure is noted there.
    const bytes = encodeFrame({ ...frame, kind: 'stream', epoch: this.#epoch })
    this.#socket.send(this.#channel?.seal(bytes) ?? Buffer.alloc(0), flushed)
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping()
  }

  close(reason: CloseReasonName, text: string = CLOSE_REASONS[reason].meaning): void {
    this.#failure ??= { reason, text }
    this.#state = 'closed'
    this.#socket.close(CLOSE_REASONS[reason].code, closeText(text))
    this.#after(CLOSE_MS, () => {
      this.#socket.terminate()
    })
  }

  /** Ends at once: nobody is there to answer a close. */
  #drop(reason: CloseReasonName, text: string): void {
    this.#failure ??= { reason, text }
    this.#state = 'closed'
    this.#socket.terminate()
  }

  #end(code: number, reason: Buffer): ConnectionEnd {
    this.#state = 'closed'
    this.#clearTimers()
    this.#stopWatching()
    const name = closeReasonOf(code)
    const said = reason.toString('utf8') || (name ? CLOSE_REASONS[name].meaning : `closed with code ${code}`)
    const proven = this.#channel !== null
    return { welcomed: this.#welcomed, proven, ...(this.#failure ?? { reason: name, text: said }) }
  }

  #takeSafely(data: RawData, isBinary: boolean): void {
    try {
      this.#take(data, isBinary)
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.close(error.reason, error.message)
      } else {
        // A bug in this program must not end the agent. The connection begins again, and the log says what happened.
        const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
        this.#failure ??= { reason: 'internal_error', text: `this agent failed over a message: ${what}` }
        this.close('internal_error')
      }
    }
  }

  #take(data: RawData, isBinary: boolean): void {
    if (this.#state === 'closed') return
    const bytes = bytesOf(data)
    if (this.#channel === null) {
      if (isBinary) throw new ProtocolError('bad_frame', 'a frame came before the proof')
      this.#takeMessage(bytes.toString('utf8'))
      return
    }
    if (!isBinary) throw new ProtocolError('bad_seal', 'a message came that is not sealed')
    const opened = this.#channel.open(bytes)
    if (typeof opened === 'string') this.#takeMessage(opened)
    else this.#takeBytes(opened)
  }

  #takeMessage(text: string): void {
    // The challenge is not parsed here: the handshake compares its contract before it reads the rest.
    if (this.#state === 'dialling') {
      this.#takeChallenge(text)
      return
    }
    const message = parseServerMessage(text)
    if (message.type === 'proof' && this.#state === 'greeting') this.#takeProof(message)
    else if (message.type === 'welcome' && this.#state === 'proven') this.#takeWelcome(message)
    else if (isWork(message) && this.#state === 'welcomed') this.#events.message(message)
    else throw new ProtocolError('bad_message', `${message.type} came at the wrong time`)
  }

  #takeBytes(bytes: Buffer): void {
    const frame = decodeFrame(bytes)
    if (frame.kind !== 'blob' || this.#state !== 'welcomed') {
      throw new ProtocolError('bad_frame', 'a frame that is no blob')
    }
    this.#events.blob(frame)
  }

  #takeChallenge(text: string): void {
    this.#state = 'greeting'
    this.#socket.send(this.#handshake.greet(text))
  }

  #takeProof(proof: Proof): void {
    const proven = this.#handshake.prove(proof, this.#tls)
    this.#channel = proven.channel
    this.#state = 'proven'
    this.send(proven.hello)
  }

  #takeWelcome(welcome: Welcome): void {
    this.#state = 'welcomed'
    this.#welcomed = true
    this.#epoch = welcome.epoch
    this.#clearTimers()
    this.#stopWatching = watchHeartbeat({
      heartbeatMs: welcome.heartbeat_ms,
      bytesRead: () => this.#network?.bytesRead ?? 0,
      beat: () => {
        this.#events.heartbeat(this)
      },
      dead: () => {
        this.#drop('heartbeat_lost', 'nothing came from the control plane for two heartbeats')
      },
    })
    this.#events.welcome(welcome, this)
  }

  #after(milliseconds: number, task: () => void): void {
    this.#timers.add(setTimeout(task, milliseconds))
  }

  #clearTimers(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#timers.clear()
  }
}

function isWork(message: ServerMessage): message is WorkMessage {
  return message.type !== 'challenge' && message.type !== 'proof' && message.type !== 'welcome'
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}

/** Says what happened to a connection, and what an admin can do about it. */
function wordsOf(error: Error): string {
  const words = describeError(error) || 'the connection failed'
  const advice = adviceFor(error)
  return advice === null ? words : `${words}; ${advice}`
}
