import { randomBytes } from 'node:crypto'
import {
  type AgentMessage,
  CONTRACT,
  NEWEST_CONTRACT,
  type CloseReasonName,
  type Frame,
  type HelloPayload,
  type IdentityKeys,
  SUBPROTOCOL,
  type ServerMessage,
  closeReasonOf,
  createIdentityKeys,
  decodeFrame,
  encodeFrame,
  parseServerMessage,
  publicKeyOf,
} from '@holdfast/protocol'
import WebSocket from 'ws'
import { RawHandshake } from './raw-handshake.js'
import { waitFor } from './wait.js'

/** Who an agent is: what stays the same when it dials again. */
export interface AgentIdentity {
  readonly name: string
  readonly keys: IdentityKeys
  readonly generation: number
  readonly instance: string
}

export function newIdentity(name: string): AgentIdentity {
  return { name, keys: createIdentityKeys(), generation: 1, instance: randomBytes(16).toString('hex') }
}

/** The same state folder, started again. */
export function restarted(identity: AgentIdentity): AgentIdentity {
  return { ...identity, generation: identity.generation + 1, instance: randomBytes(16).toString('hex') }
}

type ServerMessageOf<Type extends ServerMessage['type']> = Extract<ServerMessage, { type: Type }>

/**
 * The least that speaks the protocol: it dials, keeps everything that it is told, and says only what a test tells it
 * to say, right or wrong. Only that it remembers no earlier run, it says by itself.
 */
export class RawAgent {
  readonly messages: ServerMessage[] = []
  readonly frames: Frame[] = []
  /** Called with each message that comes, beside being kept. */
  onMessage: ((message: ServerMessage) => void) | null = null
  readonly handshake: RawHandshake
  #challenge = ''
  closed: { readonly code: number; readonly reason: CloseReasonName | null; readonly text: string } | null = null

  private constructor(
    readonly socket: WebSocket,
    readonly identity: AgentIdentity,
  ) {
    this.handshake = new RawHandshake(identity.keys)
    socket.on('message', (data, isBinary) => this.#hear(data as Buffer, isBinary))
    socket.on('close', (code, text) => {
      this.closed = { code, reason: closeReasonOf(code), text: text.toString('utf8') }
    })
    socket.on('error', () => undefined)
  }

  /** Dials and does nothing more. @param from the address that it calls from, one of 127.0.0.0/8 */
  static dial(
    url: string,
    identity: AgentIdentity = newIdentity('agent'),
    from?: string,
    headers: Readonly<Record<string, string>> = {},
  ): RawAgent {
    const options = { perMessageDeflate: false, localAddress: from, headers }
    return new RawAgent(new WebSocket(url, SUBPROTOCOL, options), identity)
  }

  /** Dials and says hello. */
  static async greet(
    url: string,
    identity: AgentIdentity,
    payload: Partial<HelloPayload> = {},
    from?: string,
  ): Promise<RawAgent> {
    const agent = RawAgent.dial(url, identity, from)
    await agent.hello(payload)
    return agent
  }

  /** Dials, says hello and waits for the welcome. */
  static async join(
    url: string,
    identity: AgentIdentity,
    payload: Partial<HelloPayload> = {},
    from?: string,
  ): Promise<RawAgent> {
    const agent = await RawAgent.greet(url, identity, payload, from)
    await agent.next('welcome')
    return agent
  }

  /** Answers the challenge and waits for the proof: from then on everything is sealed. */
  async greet(identityKey?: string): Promise<void> {
    await this.next('challenge')
    this.socket.send(this.handshake.greet(this.#challenge, identityKey))
    await this.next('proof')
  }

  async hello(payload: Partial<HelloPayload> = {}): Promise<void> {
    if (this.handshake.channel === null) await this.greet(payload.identity_key)
    const text = this.helloText(payload)
    this.say({ type: 'hello', payload: text, signature: this.handshake.sign(text) })
  }

  helloText(payload: Partial<HelloPayload> = {}): string {
    const { name, keys, generation, instance } = this.identity
    const whole: HelloPayload = {
      name,
      identity_key: publicKeyOf(keys.identityPrivatePem),
      sealing_key: publicKeyOf(keys.sealingPrivatePem),
      generation,
      instance,
      contract: CONTRACT,
      speaks: NEWEST_CONTRACT,
      version: '0.1.0',
      ansible_version: 'core 2.18.1',
      host: 'test-host',
      max_jobs: 10,
      isolation: 'none',
      join_token: null,
      succession: [],
      clock: Date.now(),
      ...payload,
    }
    return JSON.stringify(whole)
  }

  say(message: AgentMessage): void {
    this.raw(JSON.stringify(message))
  }

  status(changes: Partial<Extract<AgentMessage, { type: 'status' }>> = {}): void {
    const quiet = { running_jobs: 0, max_jobs: 10, draining: false, spool_bytes: 0, clock: Date.now() }
    this.say({ type: 'status', ...quiet, ...changes })
  }

  sendFrame(epoch: number, jobId: number, payload: string, offset = 0): void {
    const bytes = Buffer.from(payload)
    this.raw(encodeFrame({ kind: 'stream', stream: 'output', final: false, epoch, jobId, offset, payload: bytes }))
  }

  /** Sends anything as a message or frame, sealed once the proof is there. */
  raw(data: string | Buffer): void {
    this.socket.send(this.handshake.channel?.seal(data) ?? data)
  }

  /** Sends anything as it is. */
  unsealed(data: string | Buffer): void {
    this.socket.send(data)
  }

  /** The last message of a type, waited for. */
  async next<Type extends ServerMessage['type']>(type: Type): Promise<ServerMessageOf<Type>> {
    const latest = () => this.messages.findLast((message) => message.type === type)
    const answer = await waitFor(`message ${type}`, () => latest() ?? this.closed, { everyMs: 2 })
    // Nothing comes any more, so nobody waits for it.
    if (!('type' in answer)) throw new Error(`no ${type} came: closed with ${answer.code} ${answer.text}`)
    return answer as ServerMessageOf<Type>
  }

  waitForClose(): Promise<{ readonly code: number; readonly reason: CloseReasonName | null; readonly text: string }> {
    return waitFor('the close', () => this.closed, { everyMs: 2 })
  }

  #hear(bytes: Buffer, isBinary: boolean): void {
    const { channel } = this.handshake
    const heard = channel ? channel.open(bytes) : isBinary ? bytes : bytes.toString('utf8')
    if (typeof heard !== 'string') {
      this.frames.push(decodeFrame(heard))
      return
    }
    const message = parseServerMessage(heard)
    if (message.type === 'challenge') this.#challenge = heard
    if (message.type === 'proof') this.handshake.prove(message)
    this.messages.push(message)
    if (message.type === 'recall') this.#answerRecall(message.jobs)
    this.onMessage?.(message)
  }

  /** It remembers no run: it has never heard of the one that it is asked about. */
  #answerRecall(refs: ServerMessageOf<'recall'>['jobs']): void {
    for (const ref of refs) this.say({ type: 'recalled', ...ref, known: false, record: null })
  }

  async leave(): Promise<void> {
    this.socket.close()
    await this.waitForClose()
  }
}
