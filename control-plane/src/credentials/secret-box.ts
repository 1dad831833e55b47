import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Secrets at rest, encrypted with AES-256-GCM:
 *
 *   0   version, 1        1   nonce (12)      13   tag (16)      29   ciphertext
 *
 * The key is HKDF-SHA256 of ENCRYPTION_SECRET. The associated data is what the secret belongs to, so that one that was
 * moved to another row of the database does not open.
 */
const VERSION = 1
const CONTEXT = 'holdfast stored credential v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES

/** A stored secret that cannot be opened. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Encrypts what is stored and opens it again. */
export interface SecretBox {
  /** @param owner what the secret belongs to */
  seal(text: string, owner: string): Buffer
  /** @throws SecretBoxError when ENCRYPTION_SECRET is another one than at `seal`, or the bytes or the owner are */
  open(sealed: Buffer, owner: string): string
}

/** @param secret ENCRYPTION_SECRET */
export function createSecretBox(secret: string): SecretBox {
  const key = Buffer.from(hkdfSync('sha256', secret, '', CONTEXT, 32))
  const bound = (owner: string) => Buffer.from(`${CONTEXT}\n${owner}`, 'utf8')
  return {
    seal(text, owner) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound(owner))
      const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), content])
    },
    open(sealed, owner) {
      if (sealed[0] !== VERSION || sealed.length < HEADER_BYTES) {
        throw new SecretBoxError('it was stored in a form that this release does not know')
      }
      try {
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(bound(owner))
          .setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEADER_BYTES))
        return decipher.update(sealed.subarray(HEADER_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (error) {
        throw new SecretBoxError('ENCRYPTION_SECRET is not the one that it was stored with', { cause: error })
      }
    },
  }
}
