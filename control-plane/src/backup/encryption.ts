import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto'
import { promisify } from 'node:util'
import { BackupError } from './backup-error.js'

/**
 * How the key is made of the passphrase, with scrypt. Each backup contains its recipe, so a later release may use another
 * one and still read old backups.
 */
export interface KeyRecipe {
  /** In base64. */
  readonly salt: string
  /** N of scrypt. */
  readonly cost: number
  readonly blockSize: number
  readonly parallel: number
}

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** Plain bytes of one sealed part. */
const PART_BYTES = 64 * 1024
const LENGTH_BYTES = 4
/** This bit is set in the length of the last part. */
const LAST = 0x80000000

const derive = promisify<string, Buffer, number, { N: number; r: number; p: number; maxmem: number }, Buffer>(scrypt)

/** Makes a recipe with a new salt. Its key costs about a third of a second and 64 MiB of memory. */
export function newRecipe(): KeyRecipe {
  return { salt: randomBytes(16).toString('base64'), cost: 2 ** 16, blockSize: 8, parallel: 1 }
}

/** The key that a passphrase and a recipe make. */
export function backupKeyOf(passphrase: string, { salt, cost, blockSize, parallel }: KeyRecipe): Promise<Buffer> {
  const options = { N: cost, r: blockSize, p: parallel, maxmem: 256 * cost * blockSize }
  return derive(passphrase, Buffer.from(salt, 'base64'), KEY_BYTES, options)
}

/**
 * Encrypts bytes in parts with AES-256-GCM. A part is its length, its bytes and its tag. The nonce counts the parts. The
 * length also says whether the part is the last one. So nobody can change, move, leave out or add a part.
 */
export async function* sealed(plain: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let number = 0
  let held: Buffer = Buffer.alloc(0)
  const seal = (part: Buffer, isLast: boolean): Buffer => {
    const length = Buffer.alloc(LENGTH_BYTES)
    length.writeUInt32BE((isLast ? LAST : 0) + part.length)
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number)).setAAD(length)
    number += 1
    return Buffer.concat([length, cipher.update(part), cipher.final(), cipher.getAuthTag()])
  }
  for await (const piece of plain) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece])
    while (held.length > PART_BYTES) {
      yield seal(held.subarray(0, PART_BYTES), false)
      held = held.subarray(PART_BYTES)
    }
  }
  yield seal(held, true)
}

/**
 * Decrypts what {@link sealed} made.
 * @throws BackupError `wrong_passphrase` when the first part cannot be decrypted, `damaged` for a later one
 */
export async function* decrypted(bytes: AsyncIterable<Buffer>, key: Buffer): AsyncGenerator<Buffer> {
  let number = 0
  let isOver = false
  let held: Buffer = Buffer.alloc(0)
  for await (const piece of bytes) {
    held = held.length === 0 ? piece : Buffer.concat([held, piece])
    for (;;) {
      if (isOver && held.length > 0)
        throw new BackupError('damaged', 'The backup is damaged: something follows its end')
      if (held.length < LENGTH_BYTES) break
      const length = held.subarray(0, LENGTH_BYTES)
      const word = length.readUInt32BE()
      const size = word % LAST
      if (size > PART_BYTES) throw failureAt(number)
      const end = LENGTH_BYTES + size + TAG_BYTES
      if (held.length < end) break
      yield openPart(key, number, length, held.subarray(LENGTH_BYTES, end))
      isOver = word >= LAST
      number += 1
      held = held.subarray(end)
    }
  }
  if (!isOver) throw new BackupError('damaged', 'The backup is damaged: its end is missing')
}

function openPart(key: Buffer, number: number, length: Buffer, part: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number)).setAAD(length)
  decipher.setAuthTag(part.subarray(part.length - TAG_BYTES))
  try {
    return Buffer.concat([decipher.update(part.subarray(0, part.length - TAG_BYTES)), decipher.final()])
  } catch {
    throw failureAt(number)
  }
}

function failureAt(number: number): BackupError {
  return number === 0
    ? new BackupError(
        'wrong_passphrase',
        'The backup cannot be opened: the passphrase is wrong, or the file is damaged',
      )
    : new BackupError('damaged', 'The backup is damaged: a part of it was changed')
}

/** The nonce of a part. No other file has the same key, so the number of the part is enough. */
function nonceOf(number: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeBigUInt64BE(BigInt(number), NONCE_BYTES - 8)
  return nonce
}
