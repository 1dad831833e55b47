import { type KeyObject, createPublicKey } from 'node:crypto'

const RAW_BYTES = 32

/**
 * The raw public key of an X25519 or Ed25519 key, 32 bytes. It is the end of the key in DER (RFC 8410).
 *
 * Never export a key that was just generated as JWK. Node.js 20 holds the lock of the key while it makes the texts of
 * the JWK. A garbage collection in that moment may find the job that generated the key, and waits for the same lock in
 * the same thread. The process then stands still for ever; it happened about once in ten thousand keys.
 */
export function rawPublicKeyOf(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key
  return publicKey.export({ type: 'spki', format: 'der' }).subarray(-RAW_BYTES)
}
