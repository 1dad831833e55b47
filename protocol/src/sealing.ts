import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { publicKeyOf } from './identity.js'
import { rawPublicKeyOf } from './raw-key.js'

/**
 * Secrets of a job, sealed so that only one runner can open them, and only for that run of that job. Base64 of:
 *
 *   0   version, 1        1   ephemeral X25519 public key (32)      33   ciphertext      the last 16: GCM tag
 *
 * HKDF-SHA256 over the X25519 secret (salt: both public keys, ephemeral first) gives the AES-256 key and the nonce. Each
 * ephemeral key is used once, so no nonce is used twice. The binding (runner, job and run) is the associated data.
 */
const VERSION = 1
const CONTEXT = 'holdfast job secrets v1'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + KEY_BYTES

/** The one run on the one runner that sealed secrets are for. */
export interface SealBinding {
  readonly jobId: number
  readonly runId: string
  /** Of the runner's identity key. */
  readonly fingerprint: string
}

/** Sealed secrets that cannot be opened: damaged, of another version, or for another runner, job or run. */
export class SealError extends Error {
  override readonly name = 'SealError'
}

/**
 * Seals text to a runner's raw X25519 public key (base64).
 * @param ephemeral given by tests only: a key that seals twice breaks both seals
 */
export function sealSecrets(
  text: string,
  sealingKey: string,
  binding: SealBinding,
  ephemeral: KeyObject = generateKeyPairSync('x25519').privateKey,
): string {
  const ephemeralPublic = rawPublicKeyOf(ephemeral)
  const { key, nonce } = derive(
    ephemeral,
    publicKeyFrom(sealingKey),
    ephemeralPublic,
    Buffer.from(sealingKey, 'base64'),
  )
  const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(boundBytes(binding))
  const header = Buffer.concat([Buffer.of(VERSION), ephemeralPublic])
  return Buffer.concat([header, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64')
}

/**
 * Opens what `sealSecrets` made for this key and binding.
 * @throws SealError
 */
export function openSecrets(sealed: string, sealingPrivatePem: string, binding: SealBinding): string {
  const bytes = Buffer.from(sealed, 'base64')
  if (bytes[0] !== VERSION || bytes.length < HEADER_BYTES + TAG_BYTES) {
    throw new SealError('the sealed secrets are not of a version that this program knows')
  }
  try {
    const ephemeralPublic = bytes.subarray(1, HEADER_BYTES)
    const own = Buffer.from(publicKeyOf(sealingPrivatePem), 'base64')
    const sender = publicKeyFrom(ephemeralPublic.toString('base64'))
    const { key, nonce } = derive(createPrivateKey(sealingPrivatePem), sender, ephemeralPublic, own)
    const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(boundBytes(binding))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    return decipher.update(bytes.subarray(HEADER_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
  } catch (error) {
    throw new SealError('the sealed secrets are not for this runner and this run of the job', { cause: error })
  }
}

function derive(privateKey: KeyObject, publicKey: KeyObject, ephemeralPublic: Buffer, recipient: Buffer) {
  const secret = diffieHellman({ privateKey, publicKey })
  const salt = Buffer.concat([ephemeralPublic, recipient])
  const bytes = Buffer.from(hkdfSync('sha256', secret, salt, CONTEXT, KEY_BYTES + NONCE_BYTES))
  return { key: bytes.subarray(0, KEY_BYTES), nonce: bytes.subarray(KEY_BYTES) }
}

function boundBytes({ jobId, runId, fingerprint }: SealBinding): Buffer {
  return Buffer.from(`${CONTEXT}\n${jobId}\n${runId}\n${fingerprint}`, 'utf8')
}

function publicKeyFrom(base64: string): KeyObject {
  const x = Buffer.from(base64, 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x }, format: 'jwk' })
}
