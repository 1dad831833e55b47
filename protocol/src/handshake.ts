import { createHash, createPublicKey, diffieHellman, generateKeyPairSync, hkdfSync, type KeyObject } from 'node:crypto'
import { ProtocolError } from './errors.js'
import { signText, verifyText } from './identity.js'
import { rawPublicKeyOf } from './raw-key.js'

/**
 * How the two sides of the socket prove who they are, and how they get the keys that seal everything afterwards:
 *
 *   challenge   control plane: a nonce
 *   greeting    agent: its nonce, an ephemeral X25519 key, its public key
 *   proof       control plane: its public key, its ephemeral key; signed over the transcript
 *   hello       agent: who it is; signed over the transcript; sealed, as everything after it
 *
 * The transcript is the hash of the exact texts of the first three. If the control plane ends TLS itself, it also
 * covers what both sides export from that TLS connection. So each signature is valid only for this connection and these
 * two keys.
 */
const TRANSCRIPT_CONTEXT = 'holdfast runner handshake v1'
const PROOF_CONTEXT = 'holdfast control plane proof v1\n'
const HELLO_CONTEXT = 'holdfast runner hello v1\n'
const SESSION_CONTEXT = 'holdfast runner session v1'
const TLS_EXPORT_LABEL = 'EXPORTER-holdfast-runner'
const KEY_BYTES = 32

/** The texts of a handshake as they crossed. */
export interface HandshakeTexts {
  readonly challenge: string
  readonly greeting: string
  /** Payload of the proof. */
  readonly proof: string
  /** What the TLS connection below exports, or null when the control plane does not end TLS itself. */
  readonly tlsExport: Buffer | null
}

/** One side's X25519 key for one connection. */
export interface EphemeralKey {
  readonly privateKey: KeyObject
  /** Raw, base64. */
  readonly publicKey: string
}

/** The keys of one connection, one for each direction. */
export interface SessionKeys {
  readonly fromAgent: Buffer
  readonly fromControlPlane: Buffer
}

/** A socket that can export from its TLS connection, as Node.js has it. */
export interface TlsExporter {
  exportKeyingMaterial(length: number, label: string, context: Buffer): Buffer
}

/** A new random key. */
export function createEphemeralKey(): EphemeralKey {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  return { privateKey, publicKey: rawPublicKeyOf(publicKey).toString('base64') }
}

/** What binds a handshake to its TLS connection. */
export function tlsExportOf(socket: TlsExporter): Buffer {
  return socket.exportKeyingMaterial(KEY_BYTES, TLS_EXPORT_LABEL, Buffer.alloc(0))
}

/** The hash of everything that crossed so far, base64. */
export function transcriptOf({ challenge, greeting, proof, tlsExport }: HandshakeTexts): string {
  const hash = createHash('sha256')
  for (const part of [TRANSCRIPT_CONTEXT, challenge, greeting, proof, tlsExport ?? 'no TLS of its own']) {
    const bytes = typeof part === 'string' ? Buffer.from(part, 'utf8') : part
    const length = Buffer.alloc(4)
    length.writeUInt32BE(bytes.length)
    hash.update(length).update(bytes)
  }
  return hash.digest('base64')
}

/** The control plane signs the transcript; base64. */
export function signProof(servicePrivatePem: string, transcript: string): string {
  return signText(servicePrivatePem, PROOF_CONTEXT + transcript)
}

/** True when the owner of `serviceKey` signed this transcript. Never throws. */
export function verifyProof(serviceKey: string, transcript: string, signature: string): boolean {
  return verifyText(serviceKey, PROOF_CONTEXT + transcript, signature)
}

/** The agent signs the transcript together with the payload of its hello; base64. */
export function signHello(identityPrivatePem: string, transcript: string, payload: string): string {
  return signText(identityPrivatePem, `${HELLO_CONTEXT}${transcript}\n${payload}`)
}

/** True when the owner of `identityKey` signed this transcript and payload. Never throws. */
export function verifyHello(identityKey: string, transcript: string, payload: string, signature: string): boolean {
  return verifyText(identityKey, `${HELLO_CONTEXT}${transcript}\n${payload}`, signature)
}

/**
 * Computes the keys of a connection. Both sides get the same ones.
 * @param theirs the other side's ephemeral key, raw, base64
 * @throws ProtocolError `bad_message` when it is no key that gives a secret
 */
export function sessionKeysOf(own: EphemeralKey, theirs: string, transcript: string): SessionKeys {
  let secret: Buffer
  try {
    const x = Buffer.from(theirs, 'base64').toString('base64url')
    const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
    secret = diffieHellman({ privateKey: own.privateKey, publicKey })
  } catch (error) {
    throw new ProtocolError('bad_message', 'ephemeral_key: no key of X25519', { cause: error })
  }
  const bytes = Buffer.from(hkdfSync('sha256', secret, transcript, SESSION_CONTEXT, 2 * KEY_BYTES))
  return { fromAgent: bytes.subarray(0, KEY_BYTES), fromControlPlane: bytes.subarray(KEY_BYTES) }
}
