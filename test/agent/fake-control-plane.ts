import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TLSSocket } from 'node:tls'
import {
  type AgentMessage,
  CLOSE_REASONS,
  type CloseReasonName,
  decodeFrame,
  encodeFrame,
  type EndRecord,
  type HelloPayload,
  type JobOrder,
  NEWEST_CONTRACT,
  MAX_PAYLOAD_BYTES,
  parseAgentMessage,
  type SealedChannel,
  type ServerMessage,
  SOCKET_PATH,
  type StreamFrame,
  type StreamName,
  SUBPROTOCOL,
} from '@holdfast/protocol'
import { type WebSocket, WebSocketServer } from 'ws'
import { Handshake, type ServiceIdentity } from '../../control-plane/src/runners/socket/handshake.js'
import { TEST_SERVICE } from '../support/service-identity.js'
import { waitUntil } from './waiting.js'

/** What this control plane has stored of a job, and how it answers for it. */
export interface StoredJob {
  readonly order: JobOrder
  claims: number
  refusals: { code: string; message: string }[]
  unknown: number
  readonly streams: Record<StreamName, Buffer[]>
  end: EndRecord | null
  ends: number
  /** The end is acknowledged once both streams agree with it; false keeps it back. */
  acceptEnd: boolean
  abort: boolean
}

export interface Connected {
  readonly socket: WebSocket
  readonly hello: HelloPayload
  readonly epoch: number
  readonly channel: SealedChannel
  /** Sends anything, sealed: text as a message, bytes as a frame. */
  send(data: string | Buffer): void
}

/**
 * A control plane in memory, over a real socket. It keeps the rules of the contract as a real one would: it stores a
 * piece only at its stored length, acknowledges after that, and takes an end only when lengths and hashes agree.
 */
export class FakeControlPlane {
  state: 'waiting' | 'approved' = 'approved'
  maxJobs: number | null = null
  heartbeatMs = 20_000
  /** False: pieces are stored but not acknowledged. */
  acknowledge = true
  /** A reason: hellos are refused with it. */
  refuse: CloseReasonName | null = null
  readonly jobs = new Map<number, StoredJob>()
  readonly blobs = new Map<string, Buffer>()
  /** Blobs that are said to be gone although asked for. */
  readonly gone = new Set<string>()
  /** True: blobs that are asked for do not come. */
  withhold = false
  /** Blobs that do not come when they are asked for. */
  readonly late = new Set<string>()
  /** True: each connection is cut right after its welcome. */
  cutsWelcomed = false
  readonly hellos: HelloPayload[] = []
  readonly inventories: Extract<AgentMessage, { type: 'inventory' }>[] = []
  /** Jobs that it does not know, as the agent describes them. */
  readonly orphans: Extract<AgentMessage, { type: 'orphan' }>[] = []
  /** What the agent said about runs that are over. */
  readonly recalled: Extract<AgentMessage, { type: 'recalled' }>[] = []
  /** Runs whose jobs a person deleted; the others are unknown, as they are to a control plane of contract 3. */
  readonly deleted = new Set<string>()
  readonly statuses: Extract<AgentMessage, { type: 'status' }>[] = []
  readonly wanted: string[] = []
  readonly uploadsWanted: { sha256: string; offset: number }[] = []
  /** Frames of an upload that are sent for one question; the rest does not come. */
  uploadPieces = Infinity
  /** The key by which it proves itself. */
  service: ServiceIdentity = TEST_SERVICE
  /** Breaches of the contract by the agent; a test ends with none. */
  readonly breaches: string[] = []
  /** Called with every piece before it is stored; true drops the piece. */
  onPiece: ((frame: StreamFrame) => boolean) | null = null
  connected: Connected | null = null
  #epoch = 0
  readonly #server: Server
  readonly #sockets: WebSocketServer

  constructor(private readonly tls: { key: string; cert: string } | null = null) {
    this.#server = tls ? createTlsServer(tls) : createServer()
    this.#sockets = new WebSocketServer({
      server: this.#server,
      path: SOCKET_PATH,
      perMessageDeflate: false,
      handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
    })
    this.#sockets.on('connection', (socket, { socket: network }) => {
      this.#greet(socket, network instanceof TLSSocket ? network : null)
    })
  }

  get url(): string {
    return `${this.tls ? 'https' : 'http'}://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async listen(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve))
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.#sockets.close()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  /** The network goes away without a word. */
  cut(): void {
    for (const socket of this.#sockets.clients) socket.terminate()
    this.connected = null
  }

  send(message: ServerMessage): void {
    this.connected?.send(JSON.stringify(message))
  }

  approve(): void {
    this.state = 'approved'
    this.send({ type: 'settings', state: 'approved', max_jobs: this.maxJobs })
  }

  addBlob(content: Buffer | string): string {
    const bytes = Buffer.from(content)
    const sha256 = sha256Of(bytes)
    this.blobs.set(sha256, bytes)
    return sha256
  }

  offer(order: JobOrder): StoredJob {
    const job: StoredJob = this.jobs.get(order.job_id) ?? {
      order,
      claims: 0,
      refusals: [],
      unknown: 0,
      streams: { output: [], events: [] },
      end: null,
      ends: 0,
      acceptEnd: true,
      abort: false,
    }
    this.jobs.set(order.job_id, job)
    this.send({ type: 'offer', order })
    return job
  }

  async isConnected(): Promise<Connected> {
    return waitUntil('the agent is connected', () => this.connected)
  }

  stored(job: StoredJob, stream: StreamName): Buffer {
    return Buffer.concat(job.streams[stream])
  }

  length(job: StoredJob, stream: StreamName): number {
    return job.streams[stream].reduce((sum, piece) => sum + piece.length, 0)
  }

  #greet(socket: WebSocket, tls: TLSSocket | null): void {
    const { service } = this
    const handshake = new Handshake({
      random: randomBytes,
      time: Date.now(),
      version: 'fake',
      tls,
      service: { current: () => service },
    })
    socket.send(handshake.challenge)
    let channel: SealedChannel | null = null
    let connected: Connected | null = null
    socket.on('message', (bytes: Buffer, isBinary) => {
      try {
        if (channel === null) {
          const proof = handshake.answer(isBinary ? bytes : bytes.toString('utf8'))
          socket.send(JSON.stringify(proof.message))
          channel = proof.channel
          return
        }
        const message = channel.open(bytes)
        if (connected === null) connected = this.#welcome(socket, channel, handshake.readHello(message).payload)
        else if (this.connected !== connected) return
        else if (typeof message === 'string') this.#takeMessage(parseAgentMessage(message))
        else this.#takeFrame(connected, message)
      } catch (error) {
        this.breaches.push(String(error))
      }
    })
    socket.on('close', () => {
      if (this.connected?.socket === socket) this.connected = null
    })
  }

  #welcome(socket: WebSocket, channel: SealedChannel, hello: HelloPayload): Connected | null {
    this.hellos.push(hello)
    if (this.refuse) {
      socket.close(CLOSE_REASONS[this.refuse].code, CLOSE_REASONS[this.refuse].meaning)
      return null
    }
    this.#epoch += 1
    const send = (data: string | Buffer): void => socket.send(channel.seal(data))
    const connected: Connected = { socket, hello, epoch: this.#epoch, channel, send }
    this.connected = connected
    const { state, maxJobs, heartbeatMs } = this
    this.send({
      type: 'welcome',
      state,
      epoch: this.#epoch,
      max_jobs: maxJobs,
      heartbeat_ms: heartbeatMs,
      speaks: NEWEST_CONTRACT,
    })
    if (this.cutsWelcomed) setImmediate(() => socket.terminate())
    return connected
  }

  #takeFrame(connected: Connected, bytes: Buffer): void {
    const frame = decodeFrame(bytes)
    if (frame.kind !== 'stream') throw new Error('a blob from an agent')
    if (frame.epoch !== connected.epoch) throw new Error(`epoch ${frame.epoch} on a connection of ${connected.epoch}`)
    const job = this.jobs.get(frame.jobId)
    if (!job) throw new Error(`a piece of job ${frame.jobId}`)
    if (this.onPiece?.(frame)) return
    const length = this.length(job, frame.stream)
    if (frame.offset > length) {
      this.send({ type: 'rewind', job_id: frame.jobId, stream: frame.stream, to: length })
      return
    }
    const fresh = frame.payload.subarray(length - frame.offset)
    if (fresh.length > 0) job.streams[frame.stream].push(Buffer.from(fresh))
    if (this.acknowledge) this.#acknowledge(frame.jobId, job)
  }

  #acknowledge(jobId: number, job: StoredJob): void {
    this.send({ type: 'ack', job_id: jobId, output: this.length(job, 'output'), events: this.length(job, 'events') })
  }

  #takeMessage(message: AgentMessage): void {
    if (this.state === 'waiting' && message.type !== 'status') throw new Error(`${message.type} before the approval`)
    switch (message.type) {
      case 'greeting':
      case 'hello':
        throw new Error(`a second ${message.type}`)
      case 'status':
        this.statuses.push(message)
        return
      case 'inventory':
        this.inventories.push(message)
        this.send({
          type: 'resume',
          jobs: message.jobs.map(({ job_id, run_id }) => {
            const job = this.#jobOf(job_id, run_id)
            const lengths = job
              ? { output: this.length(job, 'output'), events: this.length(job, 'events') }
              : { output: 0, events: 0 }
            const ofUnknown = this.deleted.has(run_id) ? 'forget' : 'unknown'
            const verdict = !job ? ofUnknown : job.end && job.acceptEnd ? 'stored' : 'continue'
            return { job_id, run_id, verdict, ...lengths, abort: job?.abort ?? false }
          }),
        })
        // What was offered and is not on the runner is offered again.
        for (const { order, end, claims } of this.jobs.values()) {
          if (claims === 0 && !end && !message.jobs.some((job) => job.run_id === order.run_id))
            this.send({ type: 'offer', order })
        }
        return
      case 'claimed':
        this.#mustHave(message).claims += 1
        return
      case 'refused':
        this.#mustHave(message).refusals.push({ code: message.code, message: message.message })
        return
      case 'unknown_job': {
        const job = this.jobs.get(message.job_id)
        if (job) job.unknown += 1
        return
      }
      case 'recalled':
        this.recalled.push(message)
        return
      case 'orphan':
        // It waits for a decision that nobody makes here.
        this.orphans.push(message)
        return
      case 'want':
        this.wanted.push(...message.hashes)
        if (this.withhold) return
        for (const sha256 of message.hashes) if (!this.late.has(sha256)) this.#sendBlob(message, sha256)
        return
      case 'want_upload':
        this.uploadsWanted.push({ sha256: message.sha256, offset: message.offset })
        this.#sendBlob(message, message.sha256, message.offset, this.uploadPieces)
        return
      case 'end':
        this.#takeEnd(message.job_id, message.record)
    }
  }

  #sendBlob(ref: { job_id: number; run_id: string }, sha256: string, from = 0, most = Infinity): void {
    const content = this.blobs.get(sha256)
    if (!content || this.gone.has(sha256)) {
      this.send({ type: 'blob_gone', job_id: ref.job_id, run_id: ref.run_id, sha256 })
      return
    }
    let offset = from
    let pieces = 0
    do {
      const payload = content.subarray(offset, offset + MAX_PAYLOAD_BYTES)
      this.connected?.send(encodeFrame({ kind: 'blob', sha256, offset, size: content.length, payload }))
      offset += payload.length
      pieces += 1
    } while (offset < content.length && pieces < most)
  }

  #takeEnd(jobId: number, record: EndRecord): void {
    const job = this.#mustHave({ job_id: jobId, run_id: record.run_id })
    job.ends += 1
    for (const stream of ['output', 'events'] as const) {
      const stored = this.stored(job, stream)
      const { length, sha256 } = record[stream]
      if (stored.length === length && sha256Of(stored) === sha256) continue
      if (stored.length > length || stored.length === length) job.streams[stream].length = 0
      this.send({ type: 'rewind', job_id: jobId, stream, to: this.length(job, stream) })
      return
    }
    job.end = record
    if (job.acceptEnd) this.send({ type: 'end_stored', job_id: jobId, run_id: record.run_id })
  }

  #jobOf(jobId: number, runId: string): StoredJob | undefined {
    const job = this.jobs.get(jobId)
    return job?.order.run_id === runId ? job : undefined
  }

  #mustHave(ref: { job_id: number; run_id: string }): StoredJob {
    const job = this.#jobOf(ref.job_id, ref.run_id)
    if (!job) throw new Error(`a message about job ${ref.job_id}`)
    return job
  }
}

export function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
