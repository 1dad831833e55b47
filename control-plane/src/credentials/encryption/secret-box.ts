import { type Secrets, secretsOf } from '../../secrets/secret-ring.js'
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'

/**
 * Secrets at rest, encrypted with AES-256-GCM:
 *
 *   0   version, 1        1   nonce (12)      13   tag (16)      29   ciphertext
 *
 * The key is HKDF-SHA256 of ENCRYPTION_SECRET. The associated data is the owner of the secret. So a secret that was
 * moved to another row of the database cannot be opened.
 */
const VERSION = 1
const CONTEXT = 'holdfast stored credential v1'
const NAME_CONTEXT = 'holdfast name v1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES

/** A stored secret that cannot be decrypted. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError'
}

/** Encrypts what is stored, and decrypts it. */
export type SecretBox = ReturnType<typeof createSecretBox>

/** @param secrets ENCRYPTION_SECRET: the first one encrypts, each of them may decrypt */
export function createSecretBox(secrets: Secrets) {
  const keys = new Map<string, Buffer>()
  const keysNow = (): readonly Buffer[] =>
    secretsOf(secrets).map((secret) => {
      const key = keys.get(secret) ?? Buffer.from(hkdfSync('sha256', secret, '', CONTEXT, 32))
      keys.set(secret, key)
      return key
    })
  const bound = (owner: string) => Buffer.from(`${CONTEXT}\n${owner}`, 'utf8')

  /** @param owner the thing that the secret belongs to */
  function seal(text: string, owner: string): Buffer {
    const [key] = keysNow()
    if (!key) throw new SecretBoxError('there is no ENCRYPTION_SECRET')
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES }).setAAD(bound(owner))
    const content = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
    return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), content])
  }

  /** Also returns the number of the secret that decrypted it. */
  function openWith(sealed: Buffer, owner: string): { readonly text: string; readonly secret: number } {
    if (sealed[0] !== VERSION || sealed.length < HEADER_BYTES) {
      throw new SecretBoxError('it was stored in a form that this release does not know')
    }
    let cause: unknown
    for (const [secret, key] of keysNow().entries()) {
      try {
        const nonce = sealed.subarray(1, 1 + NONCE_BYTES)
        const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: TAG_BYTES })
          .setAAD(bound(owner))
          .setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEADER_BYTES))
        const text = decipher.update(sealed.subarray(HEADER_BYTES), undefined, 'utf8') + decipher.final('utf8')
        return { text, secret }
      } catch (error) {
        cause = error
      }
    }
    throw new SecretBoxError('ENCRYPTION_SECRET is not the one that it was stored with', { cause })
  }

  return {
    seal,
    /** A name that follows from a text, and that nobody can compute without the secret: 64 hexadecimal digits. */
    nameOf(text: string): string {
      const [secret = ''] = secretsOf(secrets)
      const key = Buffer.from(hkdfSync('sha256', secret, '', NAME_CONTEXT, 32))
      return createHmac('sha256', key).update(text).digest('hex')
    },
    /** @throws SecretBoxError when the ENCRYPTION_SECRET, the bytes or the owner differ from those at `seal` */
    open: (sealed: Buffer, owner: string): string => openWith(sealed, owner).text,
    /**
     * The same value encrypted with the current secret; null when it already is.
     * @throws SecretBoxError as `open` does
     */
    sealAnew(sealed: Buffer, owner: string): Buffer | null {
      const { text, secret } = openWith(sealed, owner)
      return secret === 0 ? null : seal(text, owner)
    },
  }
}
