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

/** Time from dialling to the welcome, and for a close to be answered. */
const HANDSHAKE_MS = 15_000
const CLOSE_MS = 1_000

export type Welcome = Extract<ServerMessage, { type: 'welcome' }>
/** What comes after the welcome. */
export type WorkMessage = Exclude<ServerMessage, Welcome | Proof | { type: 'challenge' }>

export interface ConnectionOptions {
  readonly address: string
  readonly tlsVerify: boolean
  /** The proxy to dial through, or null. */
  readonly proxy: URL | null
  /** Makes the handshake of one connection. */
  readonly handshake: () => AgentHandshake
}

export interface ConnectionEvents {
  welcome(welcome: Welcome, connection: Connection): void
  message(message: WorkMessage): void
  blob(frame: BlobFrame): void
  /** Time for a sign of life. */
  heartbeat(connection: Connection): void
}

/** How a connection ended. */
export interface ConnectionEnd {
  readonly welcomed: boolean
  /** True: the other side proved that it is the control plane to obey. */
  readonly proven: boolean
  /** The contract's reason, or null: network loss, a proxy, an app that is not there. */
  readonly reason: CloseReasonName | null
  /** One sentence for the log. */
  readonly text: string
}

export interface Connection {
  readonly open: boolean
  readonly epoch: number
  bufferedBytes(): number
  send(message: AgentMessage): void
  sendFrame(frame: Omit<StreamFrame, 'kind' | 'epoch'>, flushed: () => void): void
  /** A sign of life without a message. */
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
 *   closed      nothing any more counts; also while a close of ours is not answered yet
 */
type State = 'dialling' | 'greeting' | 'proven' | 'welcomed' | 'closed'

/** Dials the control plane. */
export function openConnection(options: ConnectionOptions, events: ConnectionEvents): Connection {
  const { address, tlsVerify, proxy } = options
  const socket = new WebSocket(address, SUBPROTOCOL, {
    perMessageDeflate: false,
    maxPayload: MAX_SOCKET_MESSAGE_BYTES,
    handshakeTimeout: HANDSHAKE_MS,
    rejectUnauthorized: tlsVerify,
    ...(proxy ? { agent: new ProxyAgent(proxy) } : {}),
  })
  return followConnection(socket, null, options.handshake(), events)
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
  let channel: SealedChannel | null = null
  let tls: TlsExporter | null = null
  let state: State = 'dialling'
  let epoch = 0
  let welcomed = false
  let failure: { reason: CloseReasonName | null; text: string } | null = null
  let bytesRead = (): number => accepted?.bytesRead ?? 0
  const timers = new Set<NodeJS.Timeout>()
  let stopWatching = (): void => undefined

  const after = (milliseconds: number, task: () => void): void => {
    timers.add(setTimeout(task, milliseconds))
  }

  const close = (reason: CloseReasonName, text: string = CLOSE_REASONS[reason].meaning): void => {
    failure ??= { reason, text }
    state = 'closed'
    socket.close(CLOSE_REASONS[reason].code, closeText(text))
    after(CLOSE_MS, () => {
      socket.terminate()
    })
  }

  /** Ends at once: nobody is there to answer a close. */
  const drop = (reason: CloseReasonName, text: string): void => {
    failure ??= { reason, text }
    state = 'closed'
    socket.terminate()
  }

  const takeChallenge = (text: string): void => {
    state = 'greeting'
    socket.send(handshake.greet(text))
  }

  const takeProof = (proof: Proof): void => {
    const proven = handshake.prove(proof, tls)
    channel = proven.channel
    state = 'proven'
    connection.send(proven.hello)
  }

  const takeWelcome = (welcome: Welcome): void => {
    state = 'welcomed'
    welcomed = true
    epoch = welcome.epoch
    clearTimers()
    stopWatching = watchHeartbeat({
      heartbeatMs: welcome.heartbeat_ms,
      bytesRead: () => bytesRead(),
      beat: () => {
        events.heartbeat(connection)
      },
      dead: () => {
        drop('heartbeat_lost', 'nothing came from the control plane for two heartbeats')
      },
    })
    events.welcome(welcome, connection)
  }

  const takeMessage = (text: string): void => {
    // Its contract is compared before the rest of it is read.
    if (state === 'dialling') {
      takeChallenge(text)
      return
    }
    const message = parseServerMessage(text)
    if (message.type === 'proof' && state === 'greeting') takeProof(message)
    else if (message.type === 'welcome' && state === 'proven') takeWelcome(message)
    else if (isWork(message) && state === 'welcomed') events.message(message)
    else throw new ProtocolError('bad_message', `${message.type} came at the wrong time`)
  }

  const takeBytes = (bytes: Buffer): void => {
    const frame = decodeFrame(bytes)
    if (frame.kind !== 'blob' || state !== 'welcomed') throw new ProtocolError('bad_frame', 'a frame that is no blob')
    events.blob(frame)
  }

  const take = (data: RawData, isBinary: boolean): void => {
    if (state === 'closed') return
    const bytes = bytesOf(data)
    if (channel === null) {
      if (isBinary) throw new ProtocolError('bad_frame', 'a frame came before the proof')
      takeMessage(bytes.toString('utf8'))
      return
    }
    if (!isBinary) throw new ProtocolError('bad_seal', 'a message came that is not sealed')
    const opened = channel.open(bytes)
    if (typeof opened === 'string') takeMessage(opened)
    else takeBytes(opened)
  }

  const clearTimers = (): void => {
    for (const timer of timers) clearTimeout(timer)
    timers.clear()
  }

  const connection: Connection = {
    get open() {
      return state === 'welcomed' && socket.readyState === WebSocket.OPEN
    },
    get epoch() {
      return epoch
    },
    bufferedBytes: () => socket.bufferedAmount,
    send(message) {
      if (channel !== null && socket.readyState === WebSocket.OPEN) socket.send(channel.seal(JSON.stringify(message)))
    },
    sendFrame(frame, flushed) {
      // A failed write also ends the socket, which is where it is told.
      const bytes = encodeFrame({ ...frame, kind: 'stream', epoch })
      socket.send(channel?.seal(bytes) ?? Buffer.alloc(0), flushed)
    },
    ping() {
      if (socket.readyState === WebSocket.OPEN) socket.ping()
    },
    close,
    ended: new Promise((resolve) => {
      socket.once('close', (code, reason) => {
        state = 'closed'
        clearTimers()
        stopWatching()
        const name = closeReasonOf(code)
        const said = reason.toString('utf8') || (name ? CLOSE_REASONS[name].meaning : `closed with code ${code}`)
        resolve({ welcomed, proven: channel !== null, ...(failure ?? { reason: name, text: said }) })
      })
    }),
  }

  after(HANDSHAKE_MS, () => {
    drop('handshake_timeout', 'the control plane did not complete the handshake in time')
  })
  socket.once('upgrade', (response) => {
    bytesRead = () => response.socket.bytesRead
    if (response.socket instanceof TLSSocket) tls = response.socket
  })
  socket.on('error', (error) => {
    failure ??= { reason: null, text: wordsOf(error) }
  })
  socket.on('message', (data, isBinary) => {
    try {
      take(data, isBinary)
    } catch (error) {
      if (error instanceof ProtocolError) {
        close(error.reason, error.message)
      } else {
        // A mistake of ours must not end the agent: the connection starts anew, and the log says what it was.
        const what = error instanceof Error ? (error.stack ?? error.message) : String(error)
        failure ??= { reason: 'internal_error', text: `this agent failed over a message: ${what}` }
        close('internal_error')
      }
    }
  })
  return connection
}

function isWork(message: ServerMessage): message is WorkMessage {
  return message.type !== 'challenge' && message.type !== 'proof' && message.type !== 'welcome'
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}

/** What happened to a connection, and what an admin can do about it. */
function wordsOf(error: Error): string {
  const words = describeError(error) || 'the connection failed'
  const advice = adviceFor(error)
  return advice === null ? words : `${words}; ${advice}`
}
