import { randomBytes } from 'node:crypto'
import {
  type IdentityKeys,
  type SealedChannel,
  type ServerMessage,
  createEphemeralKey,
  createSealedChannel,
  parseProofPayload,
  publicKeyOf,
  sessionKeysOf,
  signHello,
  transcriptOf,
  verifyProof,
} from '@holdfast/protocol'

/** The agent's side of a handshake for tests: step by step, so that each step may be done wrong. */
export class RawHandshake {
  readonly #ephemeral = createEphemeralKey()
  #challenge = ''
  greeting = ''
  transcript = ''
  channel: SealedChannel | null = null

  constructor(private readonly keys: IdentityKeys) {}

  /** The greeting that answers a challenge. */
  greet(challenge: string, identityKey = publicKeyOf(this.keys.identityPrivatePem)): string {
    this.#challenge = challenge
    this.greeting = JSON.stringify({
      type: 'greeting',
      nonce: randomBytes(32).toString('base64'),
      ephemeral_key: this.#ephemeral.publicKey,
      identity_key: identityKey,
    })
    return this.greeting
  }

  /** Takes the proof: from now on everything is sealed. */
  prove({ payload, signature }: Extract<ServerMessage, { type: 'proof' }>): void {
    const { service_key, ephemeral_key } = parseProofPayload(payload)
    const texts = { challenge: this.#challenge, greeting: this.greeting, proof: payload, tlsExport: null }
    this.transcript = transcriptOf(texts)
    if (!verifyProof(service_key, this.transcript, signature))
      throw new Error('the proof of the control plane is wrong')
    this.channel = createSealedChannel('agent', sessionKeysOf(this.#ephemeral, ephemeral_key, this.transcript))
  }

  sign(payload: string, privatePem = this.keys.identityPrivatePem): string {
    return signHello(privatePem, this.transcript, payload)
  }
}
