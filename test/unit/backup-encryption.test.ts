import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { backupKeyOf, decrypted, newRecipe, sealed } from '../../control-plane/src/backup/encryption.js'

const PART = 64 * 1024
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

test.each([0, 1, PART, PART + 1, 2 * PART])(
  '%i sealed bytes come back unchanged, in whatever pieces',
  async (length) => {
    const plain = randomBytes(length)
    const bytes = await seal(plain)
    for (const size of [999, bytes.length]) expect((await opened(bytes, size)).equals(plain)).toBe(true)
  },
)

const flipped = (bytes: Buffer, at: number) => {
  const changed = Buffer.from(bytes)
  changed[at] = (changed[at] ?? 0) ^ 1
  return changed
}
/** The length of a whole part with its length before it and its tag behind it. */
const FIRST = PART + 4 + 16

test.each<[string, (bytes: Buffer) => Buffer, string]>([
  ['with another first length', (bytes) => flipped(bytes, 3), 'wrong_passphrase'],
  ['with another byte in the first part', (bytes) => flipped(bytes, 4), 'wrong_passphrase'],
  ['with another byte in a later part', (bytes) => flipped(bytes, FIRST + 4), 'damaged'],
  ['with another byte at the end', (bytes) => flipped(bytes, bytes.length - 1), 'damaged'],
  ['cut at the end of a part', (bytes) => bytes.subarray(0, 2 * FIRST), 'damaged'],
  ['cut in a part', (bytes) => bytes.subarray(0, 2 * FIRST + 50), 'damaged'],
  ['cut in a length', (bytes) => bytes.subarray(0, 2 * FIRST + 2), 'damaged'],
  ['without anything', () => Buffer.alloc(0), 'damaged'],
  ['with a byte more', (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]), 'damaged'],
  ['with a part more', (bytes) => Buffer.concat([bytes, bytes.subarray(0, FIRST)]), 'damaged'],
  [
    'with two parts in another order',
    (bytes) => Buffer.concat([bytes.subarray(0, FIRST), bytes.subarray(2 * FIRST), bytes.subarray(FIRST, 2 * FIRST)]),
    'damaged',
  ],
  ['with a part that is longer than any', () => Buffer.from([0, 0x10, 0, 0]), 'wrong_passphrase'],
])('sealed bytes %s are refused', async (_what, change, code) => {
  await expect(opened(change(await seal(randomBytes(2 * PART + 100))))).rejects.toMatchObject({ code })
})

test('sealed bytes are opened by their key only', async () => {
  await expect(opened(await seal(randomBytes(10)), 10, randomBytes(32))).rejects.toMatchObject({
    code: 'wrong_passphrase',
  })
})

test('a key needs its passphrase and all of its recipe, which is another one each time', async () => {
  const recipe = { salt: Buffer.from('salt').toString('base64'), cost: 16, blockSize: 8, parallel: 1 }
  const made = await backupKeyOf('a passphrase', recipe)
  expect(await backupKeyOf('a passphrase', { ...recipe })).toEqual(made)
  for (const other of [{ salt: 'AAAA' }, { cost: 32 }, { blockSize: 4 }, { parallel: 2 }])
    expect(await backupKeyOf('a passphrase', { ...recipe, ...other })).not.toEqual(made)
  expect(await backupKeyOf('another', recipe)).not.toEqual(made)
  expect(newRecipe().salt).not.toBe(newRecipe().salt)
})
