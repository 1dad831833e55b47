import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { backupKeyOf, decrypted, newRecipe, sealed } from '../../control-plane/src/backup/encryption.js'

const PART = 64 * 1024
/** The length before a part, and the tag behind it. */
const AROUND = 4 + 16
const key = randomBytes(32)

/** Bytes in pieces of this size, as a disk or a socket may give them. */
async function* pieces(bytes: Buffer, size = 10_000): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size))
}

async function whole(bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const found: Buffer[] = []
  for await (const piece of bytes) found.push(piece)
  return Buffer.concat(found)
}

const seal = (plain: Buffer) => whole(sealed(pieces(plain), key))
const opened = (bytes: Buffer, size?: number, withKey = key) => whole(decrypted(pieces(bytes, size), withKey))

describe('sealed bytes', () => {
  test.each([
    [0, 1],
    [1, 1],
    [PART - 1, 1],
    [PART, 1],
    [PART + 1, 2],
    [2 * PART, 2],
    [2 * PART + 1, 3],
  ])('of %i plain bytes are %i parts and come back unchanged', async (length, parts) => {
    const plain = randomBytes(length)
    const bytes = await seal(plain)
    expect(bytes.length).toBe(length + parts * AROUND)
    for (const size of [1000, PART, PART + AROUND, bytes.length]) {
      expect((await opened(bytes, size)).equals(plain)).toBe(true)
    }
  })

  test('come back one byte at a time, too', async () => {
    const plain = randomBytes(500)
    expect((await opened(await seal(plain), 1)).equals(plain)).toBe(true)
  })

  test('are different each time only by their key', async () => {
    const plain = randomBytes(100)
    expect((await seal(plain)).equals(await seal(plain))).toBe(true)
    const { salt } = newRecipe()
    expect(newRecipe().salt).not.toBe(salt)
  })
})

describe('bytes that were changed', () => {
  const plain = randomBytes(2 * PART + 100)
  const first = PART + AROUND

  test('in the first part look like a wrong passphrase', async () => {
    const bytes = await seal(plain)
    for (const at of [3, 4, first - 1]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      await expect(opened(changed)).rejects.toMatchObject({ code: 'wrong_passphrase' })
    }
    await expect(opened(bytes, undefined, randomBytes(32))).rejects.toMatchObject({ code: 'wrong_passphrase' })
  })

  test('in a later part are damaged', async () => {
    const bytes = await seal(plain)
    for (const at of [first + 3, first + 4, bytes.length - 1]) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      await expect(opened(changed)).rejects.toMatchObject({ code: 'damaged' })
    }
  })

  test('in their order are damaged', async () => {
    const bytes = await seal(plain)
    const swapped = Buffer.concat([
      bytes.subarray(0, first),
      bytes.subarray(2 * first),
      bytes.subarray(first, 2 * first),
    ])
    await expect(opened(swapped)).rejects.toMatchObject({ code: 'damaged' })
  })

  test.each([
    ['at the end of a part', 2 * first],
    ['in the last part', 2 * first + 50],
    ['in a length', 2 * first + 2],
    ['before everything', 0],
  ])('and cut %s are damaged', async (_where, length) => {
    const bytes = await seal(plain)
    await expect(opened(bytes.subarray(0, length))).rejects.toMatchObject({
      code: 'damaged',
      message: 'The backup is damaged: its end is missing',
    })
  })

  test('at the end, by one byte or by a part more, are damaged', async () => {
    const bytes = await seal(plain)
    for (const more of [Buffer.alloc(1), bytes.subarray(0, first)]) {
      await expect(opened(Buffer.concat([bytes, more]))).rejects.toMatchObject({
        message: 'The backup is damaged: something follows its end',
      })
    }
  })

  test('are refused at the length of a part, before so much is read', async () => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(PART + 1)
    await expect(opened(length)).rejects.toMatchObject({ code: 'wrong_passphrase' })
    // A part of the greatest length is waited for.
    length.writeUInt32BE(PART)
    await expect(opened(length)).rejects.toMatchObject({ code: 'damaged' })
  })
})

test('a key needs its passphrase and all of its recipe', async () => {
  const recipe = { salt: Buffer.from('salt').toString('base64'), cost: 16, blockSize: 8, parallel: 1 }
  const made = await backupKeyOf('a passphrase', recipe)
  expect(made).toHaveLength(32)
  expect(await backupKeyOf('a passphrase', { ...recipe })).toEqual(made)
  const others = [{ salt: 'AAAA' }, { cost: 32 }, { blockSize: 4 }, { parallel: 2 }]
  for (const other of others) expect(await backupKeyOf('a passphrase', { ...recipe, ...other })).not.toEqual(made)
  expect(await backupKeyOf('another', recipe)).not.toEqual(made)
})
