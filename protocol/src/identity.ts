import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto'

/** Prefix of what is signed, so that a signature made for the handshake means nothing anywhere else. */
const HELLO_CONTEXT = 'holdfast runner hello v1\n'

/** A runner's two key pairs, private keys as PKCS#8 PEM: Ed25519 for its identity, X25519 for sealed secrets. */
export interface IdentityKeys {
  readonly identityPrivatePem: string
  readonly sealingPrivatePem: string
}

/** Makes fresh keys for a runner. */
export function createIdentityKeys(): IdentityKeys {
  const pem = { type: 'pkcs8', format: 'pem' } as const
  return {
    identityPrivatePem: generateKeyPairSync('ed25519').privateKey.export(pem).toString(),
    sealingPrivatePem: generateKeyPairSync('x25519').privateKey.export(pem).toString(),
  }
}

/** The raw 32-byte public key of a private key in PEM, base64. */
export function publicKeyOf(privatePem: string): string {
  const jwk = createPublicKey(createPrivateKey(privatePem)).export({ format: 'jwk' })
  return Buffer.from(String(jwk.x), 'base64url').toString('base64')
}

/** Fingerprint of a raw public key (base64): `SHA256:` and the base64 of its SHA-256 without padding, as ssh shows it. */
export function fingerprintOf(publicKey: string): string {
  const digest = createHash('sha256').update(Buffer.from(publicKey, 'base64')).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

/** Signs the hello's payload text together with the server's nonce; base64. */
export function signHello(identityPrivatePem: string, nonce: string, payload: string): string {
  return signBytes(null, signedBytes(nonce, payload), createPrivateKey(identityPrivatePem)).toString('base64')
}

/** True when `signature` was made by the owner of `publicKey` over this nonce and payload. Never throws. */
export function verifyHello(publicKey: string, nonce: string, payload: string, signature: string): boolean {
  try {
    return verifyBytes(null, signedBytes(nonce, payload), ed25519KeyOf(publicKey), Buffer.from(signature, 'base64'))
  } catch {
    return false
  }
}

function signedBytes(nonce: string, payload: string): Buffer {
  return Buffer.from(`${HELLO_CONTEXT}${nonce}\n${payload}`, 'utf8')
}

function ed25519KeyOf(publicKey: string): KeyObject {
  const x = Buffer.from(publicKey, 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}
