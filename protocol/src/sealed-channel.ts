import { createCipheriv, createDecipheriv } from 'node:crypto'
import { ProtocolError } from './errors.js'
import type { SessionKeys } from './handshake.js'

/**
 * Everything after the proof crosses sealed with AES-256-GCM, one binary message of the socket for each message or frame:
 *
 *   0   kind: 0 a control message, 1 a frame      1   ciphertext      the last 16: GCM tag
 *
 * The nonce is the number of the message in its direction. It is not sent. So when a message was left out, repeated or
 * inserted, this is noticed: the next message cannot be opened. The kind is the associated data. Each key seals in one
 * direction of one connection.
 */
const ALGORITHM = 'aes-256-gcm'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CONTROL_KIND = 0
const FRAME_KIND = 1

/** Bytes that sealing adds. */
export const SEAL_BYTES = 1 + TAG_BYTES

/** Seals what this side sends, and opens what the other side has sent, both in the order of the socket. */
export type SealedChannel = ReturnType<typeof createSealedChannel>

/** @param side that uses this channel: it seals with its own key and opens with the key of the other side */
export function createSealedChannel(side: 'agent' | 'control plane', keys: SessionKeys) {
  const [own, other] =
    side === 'agent' ? [keys.fromAgent, keys.fromControlPlane] : [keys.fromControlPlane, keys.fromAgent]
  let sent = 0
  let received = 0
  return {
    /** Text is a control message, bytes are a frame. */
    seal(message: string | Buffer): Buffer {
      const kind = Buffer.of(typeof message === 'string' ? CONTROL_KIND : FRAME_KIND)
      const cipher = createCipheriv(ALGORITHM, own, nonceOf(sent), { authTagLength: TAG_BYTES }).setAAD(kind)
      sent += 1
      const content = typeof message === 'string' ? cipher.update(message, 'utf8') : cipher.update(message)
      return Buffer.concat([kind, content, cipher.final(), cipher.getAuthTag()])
    },
    /** @throws ProtocolError `bad_seal` when it is not the next message of the other side */
    open(sealed: Buffer): string | Buffer {
      const kind = sealed[0]
      if (sealed.length < SEAL_BYTES || (kind !== CONTROL_KIND && kind !== FRAME_KIND)) throw notSealed()
      let content: Buffer
      try {
        const decipher = createDecipheriv(ALGORITHM, other, nonceOf(received), { authTagLength: TAG_BYTES })
          .setAAD(sealed.subarray(0, 1))
          .setAuthTag(sealed.subarray(-TAG_BYTES))
        content = decipher.update(sealed.subarray(1, -TAG_BYTES))
        decipher.final()
      } catch (error) {
        throw notSealed(error)
      }
      received += 1
      return kind === CONTROL_KIND ? content.toString('utf8') : content
    },
  }
}

function nonceOf(count: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeBigUInt64BE(BigInt(count), NONCE_BYTES - 8)
  return nonce
}

function notSealed(cause?: unknown): ProtocolError {
  return new ProtocolError(
    'bad_seal',
    'a message is not sealed with the keys of this connection, or not the next one',
    {
      cause,
    },
  )
}
