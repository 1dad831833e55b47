import {
  CONTRACT,
  type EphemeralKey,
  type HelloPayload,
  ProtocolError,
  type SealedChannel,
  type ServerMessage,
  type Succession,
  type TlsExporter,
  ancestorsOf,
  countSchema,
  createEphemeralKey,
  createSealedChannel,
  fingerprintOf,
  parseAgentMessage,
  parseHelloPayload,
  parseJson,
  sessionKeysOf,
  signProof,
  tlsExportOf,
  transcriptOf,
  verifyHello,
} from '@holdfast/protocol'
import * as v from 'valibot'
import type { Incoming } from './agent-socket.js'

/** Bytes of a challenge's nonce. */
const NONCE_BYTES = 32

/** The key by which the control plane proves who it is, and the keys that it had before. */
export interface ServiceIdentity {
  readonly privatePem: string
  /** Raw public key, base64. */
  readonly publicKey: string
  readonly succession: Succession
}

/** Gives the current identity. @throws UnavailableError when its key cannot be opened */
export interface ServiceIdentitySource {
  current(): ServiceIdentity
}

/** A hello whose signature is right: this process has the key. */
export interface ProvenHello {
  readonly payload: HelloPayload
  readonly fingerprint: string
  /** Fingerprints of the keys that this runner had before, as its signatures show, the newest first. */
  readonly ancestors: readonly string[]
}

/** What the handshake needs of its connection. */
export interface HandshakeDependencies {
  readonly random: (bytes: number) => Buffer
  /** The time in the challenge, in milliseconds since the epoch. */
  readonly time: number
  readonly version: string
  readonly service: ServiceIdentitySource
  /** The TLS connection that ends here; null when there is none. */
  readonly tls: TlsExporter | null
}

/** The proof, and the channel that seals everything after it. */
export interface Proof {
  readonly message: ServerMessage
  readonly channel: SealedChannel
}

/**
 * The only field of a payload that every contract has. Because of it, agents of other contracts get a useful answer,
 * too.
 */
const contractOnlySchema = v.object({ contract: countSchema })

/**
 * One handshake, on the side of the control plane (docs/protocol.md, section 1): `challenge`, `answer`, `readHello`,
 * once each.
 */
export class Handshake {
  /** The text of the challenge, sent as it is, because both sides sign it. */
  readonly challenge: string
  #transcript = ''
  #identityKey = ''

  constructor(private readonly deps: HandshakeDependencies) {
    const { random, time, version } = deps
    const nonce = random(NONCE_BYTES).toString('base64')
    this.challenge = JSON.stringify({
      type: 'challenge',
      nonce,
      time,
      contract: CONTRACT,
      version,
    } satisfies ServerMessage)
  }

  /**
   * Reads the greeting, which is the first message of a connection, and proves that this control plane has its key.
   * @throws ProtocolError `before_handshake`, `bad_message`, `too_large`
   */
  answer(greeting: Incoming): Proof {
    if (typeof greeting !== 'string') throw new ProtocolError('before_handshake', 'a frame came before the greeting')
    const said = parseAgentMessage(greeting)
    if (said.type !== 'greeting') throw new ProtocolError('before_handshake', `${said.type} came before the greeting`)
    const { tls } = this.deps
    const service = this.deps.service.current()
    const ephemeral: EphemeralKey = createEphemeralKey()
    const payload = JSON.stringify({
      service_key: service.publicKey,
      ephemeral_key: ephemeral.publicKey,
      tls: tls !== null,
      succession: service.succession,
    })
    this.#identityKey = said.identity_key
    this.#transcript = transcriptOf({
      challenge: this.challenge,
      greeting,
      proof: payload,
      tlsExport: tls === null ? null : tlsExportOf(tls),
    })
    return {
      message: { type: 'proof', payload, signature: signProof(service.privatePem, this.#transcript) },
      channel: createSealedChannel('control plane', sessionKeysOf(ephemeral, said.ephemeral_key, this.#transcript)),
    }
  }

  /**
   * Reads the first sealed message, and checks that its sender has the key of the greeting.
   * @throws ProtocolError `before_handshake`, `bad_message`, `too_large`, `contract_mismatch`, `bad_signature`
   */
  readHello(message: Incoming): ProvenHello {
    if (typeof message !== 'string') throw new ProtocolError('before_handshake', 'a frame came before the hello')
    const hello = parseAgentMessage(message)
    if (hello.type !== 'hello') throw new ProtocolError('before_handshake', `${hello.type} came before the hello`)
    checkContract(hello.payload)
    const payload = parseHelloPayload(hello.payload)
    if (
      payload.identity_key !== this.#identityKey ||
      !verifyHello(payload.identity_key, this.#transcript, hello.payload, hello.signature)
    ) {
      throw new ProtocolError('bad_signature', 'the signature over the challenge is wrong')
    }
    const ancestors = ancestorsOf('runner', payload.succession, payload.identity_key)
    return { payload, fingerprint: fingerprintOf(payload.identity_key), ancestors }
  }
}

/** @throws ProtocolError `contract_mismatch`, `bad_message` */
function checkContract(payload: string): void {
  const { contract } = parseJson(contractOnlySchema, payload)
  if (contract !== CONTRACT) throw new ProtocolError('contract_mismatch', mismatchText(contract))
}

/** Says which side has to be updated. It is short enough for a close frame. */
function mismatchText(theirs: number): string {
  return theirs < CONTRACT
    ? `update the runner agent: it speaks contract ${theirs}, this control plane ${CONTRACT}`
    : `update the control plane: it speaks contract ${CONTRACT}, the runner agent ${theirs}`
}
