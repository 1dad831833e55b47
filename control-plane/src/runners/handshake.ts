import {
  CONTRACT,
  type HelloPayload,
  ProtocolError,
  type ServerMessage,
  countSchema,
  fingerprintOf,
  parseAgentMessage,
  parseHelloPayload,
  parseJson,
  verifyHello,
} from '@holdfast/protocol'
import * as v from 'valibot'

/** Bytes of a challenge's nonce. */
const NONCE_BYTES = 32

/** A hello whose signature was good: this process holds the key. */
export interface ProvenHello {
  readonly payload: HelloPayload
  readonly fingerprint: string
}

/** The only part of a payload that every contract keeps, so that strangers to ours still get a useful answer. */
const contractOnlySchema = v.object({ contract: countSchema })

/** A nonce for one connection, base64. */
export function createNonce(random: (bytes: number) => Buffer): string {
  return random(NONCE_BYTES).toString('base64')
}

export function challengeOf(nonce: string, time: number, version: string): ServerMessage {
  return { type: 'challenge', nonce, time, contract: CONTRACT, version }
}

/**
 * Reads the first message of a connection and proves that its sender holds the key.
 * @throws ProtocolError `before_handshake`, `bad_message`, `too_large`, `contract_mismatch`, `bad_signature`
 */
export function readHello(message: string | Buffer, nonce: string): ProvenHello {
  if (typeof message !== 'string') throw new ProtocolError('before_handshake', 'a frame came before the hello')
  const hello = parseAgentMessage(message)
  if (hello.type !== 'hello') throw new ProtocolError('before_handshake', `${hello.type} came before the hello`)
  const { contract } = parseJson(contractOnlySchema, hello.payload)
  if (contract !== CONTRACT) throw new ProtocolError('contract_mismatch', mismatchText(contract))
  const payload = parseHelloPayload(hello.payload)
  if (!verifyHello(payload.identity_key, nonce, hello.payload, hello.signature)) {
    throw new ProtocolError('bad_signature', 'the signature over the challenge is wrong')
  }
  return { payload, fingerprint: fingerprintOf(payload.identity_key) }
}

/** Says which side to update; short enough for a close frame. */
function mismatchText(theirs: number): string {
  return theirs < CONTRACT
    ? `update the runner agent: it speaks contract ${theirs}, this control plane ${CONTRACT}`
    : `update the control plane: it speaks contract ${CONTRACT}, the runner agent ${theirs}`
}
