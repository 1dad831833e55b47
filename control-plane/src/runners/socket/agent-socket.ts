import { randomBytes } from 'node:crypto'
import {
  CLOSE_REASONS,
  type CloseReasonName,
  MAX_CONTROL_BYTES,
  ProtocolError,
  type SealedChannel,
  closeText,
} from '@holdfast/protocol'
import type { RawData, WebSocket } from 'ws'
import { type Rate, TokenBucket } from './token-bucket.js'

/** How long the other side may take to close before the connection is cut, in milliseconds. */
const CLOSE_TIMEOUT_MS = 5000

/** The same for agents that were never approved, so that refused connections do not collect. */
const STRANGER_CLOSE_TIMEOUT_MS = 250

/**
 * Unsent bytes at which a peer that does not read is cut off. Blobs wait long before this limit. So these bytes are
 * control messages. A slow but correct runner never has so many of them waiting.
 */
const MAX_UNSENT_BYTES = 64 * 1024 * 1024

/** Unsent bytes at which pings get no answer any more, so that a peer that does not read cannot fill the memory. */
const MAX_UNSENT_PONGS_BYTES = 64 * 1024

/** Most bytes before the hello. A hello needs far less. At the second number, the connection is cut. */
const MAX_GREETING_BYTES = 16 * 1024
const CUT_GREETING_BYTES = 4 * MAX_GREETING_BYTES

/**
 * The cost of each kind of message, which counts against the rates below. A control message is parsed and checked. A
 * ping is answered. A frame is only copied, and another limit bounds the bytes of frames.
 */
const COST = { text: 4, frame: 1, ping: 2 }

/**
 * The rate of an approved runner: 5000 control messages or 20,000 frames a second. When it sends more, reading pauses
 * for a moment. So a correct runner with much to send uses larger frames and loses nothing.
 */
const APPROVED_RATE: Rate = { burst: 20_000, perSecond: 20_000 }

/**
 * The rate of all other runners, in addition to heartbeats. Each heartbeat adds the cost of two pings and two statuses.
 */
const STRANGER_BURST = 600
const STRANGER_PER_SECOND = 40
const COST_OF_HEARTBEAT = 2 * (COST.text + COST.ping)

/** A text is a control message, bytes are a frame. */
export type Incoming = string | Buffer

/** Who paused the reading. It goes on when nobody pauses it any more. */
export type PauseReason = 'deciding' | 'session' | 'rate'

/** The events that a socket reports to its owner. */
export interface SocketListener {
  message(message: Incoming): void
  /**
   * Called once, when no message will arrive or leave any more. If this side closes, it is called at once, before the
   * network connection is closed.
   */
  ended(): void
  /** Called once, after `ended`, when the connection is also gone from the network. */
  gone(): void
}

/** The network below a WebSocket. Everything that came over it counts, also the parts of an incomplete message. */
export interface NetworkSide {
  readonly bytesRead: number
  on(event: 'data', listener: (bytes: Buffer) => void): unknown
  off(event: 'data', listener: (bytes: Buffer) => void): unknown
}

/**
 * One WebSocket as the hub sees it: open, then ended (by either side), then gone. These rules hold:
 *
 * - Handlers are attached in the constructor, so that nothing that arrives early is lost.
 * - After `ended` the listener gets no message, though the network may still deliver some.
 * - Every close has a reason of the contract. A peer that ignores it is cut off after CLOSE_TIMEOUT_MS.
 * - A socket that we paused never counts as silent.
 * - From `protect` on, everything that comes and goes is sealed.
 * - No message is handled beyond the rate. Before the approval, such a connection ends. After it, reading waits.
 */
export class AgentSocket {
  #silentChecks = 0
  #heardBytes = 0
  #greetingBytes = 0
  #ended = false
  #because: string | null = null
  readonly #pausedBy = new Set<PauseReason>()
  #channel: SealedChannel | null = null
  #closeTimer: NodeJS.Timeout | null = null
  #rateTimer: NodeJS.Timeout | null = null
  #isApproved = false
  #rate: TokenBucket

  /** @param now milliseconds by a clock that never jumps */
  constructor(
    private readonly socket: WebSocket,
    private readonly network: NetworkSide,
    private readonly listener: SocketListener,
    heartbeatMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    const perSecond = STRANGER_PER_SECOND + (COST_OF_HEARTBEAT * 1000) / heartbeatMs
    this.#rate = new TokenBucket({ burst: STRANGER_BURST, perSecond }, now)
    socket.on('message', (data, isBinary) => this.#arrived(data, isBinary))
    // The library closes the socket after an error: broken WebSocket framing, or a message over its limit.
    socket.on('error', () => undefined)
    socket.on('close', () => this.#gone())
    socket.on('ping', (data: Buffer) => {
      if (this.#ended || !this.#keepsToRate(COST.ping)) return
      if (socket.bufferedAmount < MAX_UNSENT_PONGS_BYTES) socket.pong(data, undefined, ignoreSendError)
    })
    network.on('data', this.#greetingCame)
  }

  /** The hello has arrived. From now on messages may be large. */
  greeted(): void {
    this.network.off('data', this.#greetingCame)
  }

  /** The runner is approved. It may send as much as can be handled. */
  approved(): void {
    this.#isApproved = true
    this.#rate = new TokenBucket(APPROVED_RATE, this.now)
  }

  /** The proof was sent. From now on every message is sealed, in both directions. */
  protect(channel: SealedChannel): void {
    this.#channel = channel
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Why this side ended it; null when the other side or the network ended it. */
  get endedBecause(): string | null {
    return this.#because
  }

  /**
   * Counts how many checks in a row found nothing new, this one included. A pause of our own starts the count again.
   */
  checkSilence(): number {
    const bytes = this.network.bytesRead
    this.#silentChecks = this.#pausedBy.size > 0 || bytes !== this.#heardBytes ? 0 : this.#silentChecks + 1
    this.#heardBytes = bytes
    return this.#silentChecks
  }

  sendText(text: string): void {
    if (this.#ended) return
    this.socket.send(this.#channel?.seal(text) ?? text, ignoreSendError)
    if (this.socket.bufferedAmount > MAX_UNSENT_BYTES) this.cut('it does not read what it is sent')
  }

  /** Resolves when the bytes have left for the network. Rejects when they cannot leave any more. */
  sendBytes(bytes: Buffer): Promise<void> {
    if (this.#ended) return Promise.reject(new Error('the connection is closed'))
    return new Promise((resolve, reject) => {
      this.socket.send(this.#channel?.seal(bytes) ?? bytes, { binary: true }, (error) =>
        error ? reject(error) : resolve(),
      )
    })
  }

  ping(): void {
    if (!this.#ended) this.socket.ping(undefined, undefined, ignoreSendError)
  }

  /**
   * Whether the other side is alive: true when it answers a ping of this question in time. Bytes that were on their way
   * before prove nothing. A socket that we do not read proves nothing either.
   */
  answers(withinMs: number): Promise<boolean> {
    if (this.#ended) return Promise.resolve(false)
    const mark = randomBytes(8)
    return new Promise((resolve) => {
      const settle = (isThere: boolean) => {
        clearTimeout(timer)
        this.socket.off('pong', heard).off('close', gone)
        resolve(isThere)
      }
      const heard = (data: Buffer) => {
        if (data.equals(mark)) settle(true)
      }
      const gone = () => settle(false)
      const timer = setTimeout(gone, withinMs)
      this.socket.on('pong', heard).on('close', gone)
      this.socket.ping(mark, undefined, ignoreSendError)
    })
  }

  pause(reason: PauseReason): void {
    if (this.#ended) return
    if (this.#pausedBy.size === 0) this.socket.pause()
    this.#pausedBy.add(reason)
  }

  resume(reason: PauseReason): void {
    if (this.#pausedBy.delete(reason) && this.#pausedBy.size === 0) this.socket.resume()
  }

  /** Closes with a reason of the contract; the first call wins. */
  close(reason: CloseReasonName, text: string): void {
    if (this.#ended) return
    // The close of the other side must be read, however much waits here.
    if (this.#pausedBy.size > 0) this.socket.resume()
    this.#pausedBy.clear()
    this.#closeWithin(this.#isApproved ? CLOSE_TIMEOUT_MS : STRANGER_CLOSE_TIMEOUT_MS, reason, text)
  }

  /** Closes without reading anything more. So messages that still arrive need not be handled. */
  #shut(reason: CloseReasonName, text: string): void {
    if (this.#pausedBy.size === 0) this.socket.pause()
    this.#closeWithin(STRANGER_CLOSE_TIMEOUT_MS, reason, text)
  }

  #closeWithin(timeoutMs: number, reason: CloseReasonName, text: string): void {
    this.#end(reason)
    this.#closeTimer = setTimeout(() => this.socket.terminate(), timeoutMs)
    this.socket.close(CLOSE_REASONS[reason].code, closeText(text))
  }

  /** Ends the connection without waiting for the other side. */
  cut(why: string): void {
    this.#end(why)
    this.socket.terminate()
  }

  /** Before the other side has proven who it is, not even the start of a large message is kept. */
  readonly #greetingCame = (bytes: Buffer): void => {
    this.#greetingBytes += bytes.length
    if (this.#greetingBytes > CUT_GREETING_BYTES) this.cut('it sent too much before the hello')
    else if (this.#greetingBytes > MAX_GREETING_BYTES) this.close('too_large', 'too many bytes came before the hello')
  }

  #arrived(data: RawData, isBinary: boolean): void {
    if (this.#ended || !this.#keepsToRate(isBinary && this.#isApproved ? COST.frame : COST.text)) return
    const bytes = toBuffer(data)
    if (this.#channel) this.#open(this.#channel, bytes, isBinary)
    else if (isBinary) this.listener.message(bytes)
    else if (bytes.length > MAX_CONTROL_BYTES) this.close('too_large', 'control message over its limit')
    else this.listener.message(bytes.toString('utf8'))
  }

  #open(channel: SealedChannel, bytes: Buffer, isBinary: boolean): void {
    let message: Incoming
    try {
      if (!isBinary) throw new ProtocolError('bad_seal', 'a message came that is not sealed')
      message = channel.open(bytes)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      this.close(error.reason, error.message)
      return
    }
    // Sealed texts and frames look the same.
    if (this.#isApproved && typeof message === 'string') this.#keepsToRate(COST.text - COST.frame)
    this.listener.message(message)
  }

  /** Counts a message. False: a runner that is not approved sends too fast, and the connection has ended. */
  #keepsToRate(cost: number): boolean {
    const tooFastMs = this.#rate.take(cost)
    if (tooFastMs === 0) return true
    if (!this.#isApproved) {
      this.#shut('too_many_messages', 'more messages came than a runner that is not approved may send')
      return false
    }
    this.pause('rate')
    this.#rateTimer ??= setTimeout(() => {
      this.#rateTimer = null
      this.resume('rate')
    }, tooFastMs)
    return true
  }

  #end(because: string | null): void {
    if (this.#ended) return
    if (this.#rateTimer) clearTimeout(this.#rateTimer)
    this.#ended = true
    this.#because = because
    this.listener.ended()
  }

  #gone(): void {
    if (this.#closeTimer) clearTimeout(this.#closeTimer)
    this.#end(null)
    this.listener.gone()
  }
}

function toBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data)
}

/** A failed send needs no report, because the same connection also reports its close. */
function ignoreSendError(): void {
  return undefined
}
