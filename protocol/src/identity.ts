import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'
import * as v from 'valibot'
import { rawPublicKeyOf } from './raw-key.js'

/** A raw 32-byte public key in base64. */
export const publicKeySchema = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z0-9+/]{43}=$/, 'must be a raw 32-byte key in base64'),
)

/** The fingerprint of a public key, as it is shown. */
export const fingerprintSchema = v.pipe(
  v.string(),
  v.regex(/^SHA256:[A-Za-z0-9+/]{43}$/, 'must be SHA256: and 43 characters of base64'),
)

/** A runner's two key pairs, private keys as PKCS#8 PEM: Ed25519 for its identity, X25519 for sealed secrets. */
export interface IdentityKeys {
  readonly identityPrivatePem: string
  readonly sealingPrivatePem: string
}

/** Makes fresh keys for a runner. */
export function createIdentityKeys(): IdentityKeys {
  const pem = { type: 'pkcs8', format: 'pem' } as const
  return {
    identityPrivatePem: createSigningKey(),
    sealingPrivatePem: generateKeyPairSync('x25519').privateKey.export(pem).toString(),
  }
}

/** The raw 32-byte public key of a private key in PEM, base64. */
export function publicKeyOf(privatePem: string): string {
  return rawPublicKeyOf(createPrivateKey(privatePem)).toString('base64')
}

/** Fingerprint of a raw public key (base64): `SHA256:` and the base64 of its SHA-256 without padding, as ssh shows it. */
export function fingerprintOf(publicKey: string): string {
  const digest = createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

/**
 * An Ed25519 signature of a text, base64. The text begins with its context, so that the signature is not valid for
 * anything else.
 */
export function signText(privatePem: string, text: string): string {
  return signBytes(null, Buffer.from(text, 'utf8'), createPrivateKey(privatePem)).toString('base64')
}

/** True when `signature` was made by the owner of `publicKey` over this text. Never throws. */
export function verifyText(publicKey: string, text: string, signature: string): boolean {
  try {
    return verifyBytes(null, Buffer.from(text, 'utf8'), ed25519KeyOf(publicKey), Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

/** A fresh Ed25519 private key, PKCS#8 PEM. */
export function createSigningKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

function ed25519KeyOf(publicKey: string): KeyObject {
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}
