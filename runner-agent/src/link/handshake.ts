import {
  type AgentMessage,
  CONTRACT,
  countSchema,
  createEphemeralKey,
  createSealedChannel,
  MAX_CONTROL_BYTES,
  parseJson,
  parseProofPayload,
  parseServerMessage,
  ProtocolError,
  type SealedChannel,
  type ServerMessage,
  sessionKeysOf,
  signHello,
  type TlsExporter,
  tlsExportOf,
  transcriptOf,
  verifyProof,
} from '@holdfast/protocol'
import { randomBytes } from 'node:crypto'
import * as v from 'valibot'
import type { Identity } from '../identity/identity.js'
import type { Trust } from '../identity/trust.js'

/** The message by which the control plane proves its key. */
export type Proof = Extract<ServerMessage, { type: 'proof' }>

const NONCE_BYTES = 32

/** The only part of a challenge that every contract keeps. */
const contractOnlySchema = v.object({ type: v.literal('challenge'), contract: countSchema })

/**
 * One handshake, seen from the agent (docs/protocol.md, section 1): `greet`, then `prove`. The control plane learns only a
 * public key of this runner before it has proven that it holds the key that the runner trusts.
 */
export interface AgentHandshake {
  /**
   * Answers the challenge. @param challenge text, as it came
   * @throws ProtocolError `contract_mismatch`, `bad_message`
   */
  greet(challenge: string): string
  /**
   * Looks at the proof of the control plane; gives the hello, and what seals it and everything after it.
   * @param tls the TLS connection, or null when there is none
   * @throws ProtocolError `untrusted_service`, `bad_message`
   */
  prove(proof: Proof, tls: TlsExporter | null): { readonly hello: AgentMessage; readonly channel: SealedChannel }
}

/** What the agent brings to a handshake. */
export interface HandshakeParts {
  readonly identity: Identity
  readonly trust: Pick<Trust, 'check'>
  /** Payload of the hello. */
  readonly hello: (identity: Identity) => string
}

/** A handshake for one connection. It has an ephemeral key of its own. */
export function createHandshake({ identity, trust, hello }: HandshakeParts): AgentHandshake {
  const ephemeral = createEphemeralKey()
  let challenge = ''
  let greeting = ''

  return {
    greet(text) {
      if (text.length > MAX_CONTROL_BYTES) throw new ProtocolError('too_large', 'control message over its limit')
      const { contract } = parseJson(contractOnlySchema, text)
      if (contract !== CONTRACT) {
        const update = contract > CONTRACT ? 'update this agent' : 'update the control plane'
        const both = `the control plane speaks contract ${contract}, this agent ${CONTRACT}`
        throw new ProtocolError('contract_mismatch', `${both}: ${update}`)
      }
      parseServerMessage(text)
      challenge = text
      greeting = JSON.stringify({
        type: 'greeting',
        nonce: randomBytes(NONCE_BYTES).toString('base64'),
        ephemeral_key: ephemeral.publicKey,
        identity_key: identity.identityPublicKey,
      } satisfies AgentMessage)
      return greeting
    },
    prove({ payload, signature }, tls) {
      const said = parseProofPayload(payload)
      if (said.tls && tls === null)
        throw new ProtocolError('untrusted_service', 'it speaks TLS, and this connection has none')
      const tlsExport = said.tls && tls !== null ? tlsExportOf(tls) : null
      const transcript = transcriptOf({ challenge, greeting, proof: payload, tlsExport })
      if (!verifyProof(said.service_key, transcript, signature)) {
        throw new ProtocolError('untrusted_service', 'the control plane does not hold the key that it shows')
      }
      trust.check({ serviceKey: said.service_key, succession: said.succession })
      const keys = sessionKeysOf(ephemeral, said.ephemeral_key, transcript)
      const text = hello(identity)
      const signed = signHello(identity.identityPrivatePem, transcript, text)
      return { hello: { type: 'hello', payload: text, signature: signed }, channel: createSealedChannel('agent', keys) }
    },
  }
}
