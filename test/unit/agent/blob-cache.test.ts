import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type BlobCache, openBlobCache, UnusableBlobError } from '../../../runner-agent/src/files/blob-cache.js'
import { sha256Of } from '../../agent/fake-control-plane.js'
import { openFilesBelow } from '../../agent/open-files.js'
import { holdClock } from '../../agent/held-clock.js'

const HOUR_MS = 3_600_000
let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-blobs-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
})

async function openCache(limitBytes = 1000): Promise<BlobCache> {
  const cache = await openBlobCache(state, limitBytes)
  await cache.prepare()
  return cache
}

function put(cache: BlobCache, text: string): string {
  const sha256 = sha256Of(Buffer.from(text))
  const incoming = cache.receive(sha256)
  incoming.append(Buffer.from(text))
  expect(incoming.finish()).toBe(true)
  return sha256
}

const pathOf = (sha256: string): string => join(state, 'cache', 'blobs', sha256.slice(0, 2), sha256)
const incomingNames = (): string[] => readdirSync(join(state, 'cache', 'incoming'))

describe('the folders of the cache', () => {
  test('are made once more when somebody removed them, and what just arrives stays when they are there', async () => {
    const cache = await openCache()
    const incoming = cache.receive(sha256Of(Buffer.from('late')))
    incoming.append(Buffer.from('la'))
    await cache.prepare()
    expect(incomingNames()).toHaveLength(1)
    incoming.append(Buffer.from('te'))
    expect(incoming.finish()).toBe(true)
    rmSync(join(state, 'cache'), { recursive: true })
    await cache.prepare()
    expect(incomingNames()).toEqual([])
    expect(statSync(join(state, 'cache', 'blobs')).mode & 0o777).toBe(0o700)
  })

  test('have nothing half received of an earlier agent', async () => {
    const before = await openCache()
    before.receive(sha256Of(Buffer.from('half'))).append(Buffer.from('ha'))
    expect(incomingNames()).toHaveLength(1)
    await openCache()
    expect(incomingNames()).toEqual([])
  })
})

describe('a file of the cache', () => {
  test('counts once, however often it comes, and is counted again by the next agent', async () => {
    const cache = await openCache()
    put(cache, 'twice')
    put(cache, 'twice')
    put(cache, 'once')
    expect(cache.bytes()).toBe(9)
    expect((await openCache()).bytes()).toBe(9)
  })

  test('that an earlier agent left is looked at before it is used, and a changed one is removed', async () => {
    const sha256 = put(await openCache(), 'whole')
    writeFileSync(pathOf(sha256), 'other')
    const cache = await openCache()
    expect(await cache.has(sha256)).toBe(false)
    expect(existsSync(pathOf(sha256))).toBe(false)
    expect(cache.bytes()).toBe(0)
  })

  test('is looked at again only when somebody doubts it', async () => {
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    writeFileSync(pathOf(sha256), 'other')
    expect(await cache.has(sha256)).toBe(true)
    cache.doubt(sha256)
    expect(await cache.has(sha256)).toBe(false)
  })

  test('that was changed is not read, and is removed', async () => {
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    writeFileSync(pathOf(sha256), 'other')
    await expect(cache.read(sha256)).rejects.toThrow(UnusableBlobError)
    expect(openFilesBelow(state)).toEqual([])
    expect(await cache.has(sha256)).toBe(false)
    expect(cache.bytes()).toBe(0)
    await expect(cache.read(sha256)).rejects.toThrow(UnusableBlobError)
  })

  test('that was changed is not copied, and nothing of it is left', async () => {
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    const destination = join(state, 'copy')
    await cache.copyTo(sha256, destination, 0o640)
    expect(statSync(destination).mode & 0o777).toBe(0o640)
    expect(readFileSync(destination, 'utf8')).toBe('whole')
    expect(openFilesBelow(state)).toEqual([])
    rmSync(destination)
    writeFileSync(pathOf(sha256), 'other')
    await expect(cache.copyTo(sha256, destination, 0o640)).rejects.toThrow(UnusableBlobError)
    expect([existsSync(destination), existsSync(pathOf(sha256))]).toEqual([false, false])
    await expect(cache.copyTo(sha256, destination, 0o640)).rejects.toThrow(UnusableBlobError)
  })

  test('that cannot be opened just now is not taken for one that is gone', async () => {
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    rmSync(pathOf(sha256))
    symlinkSync(sha256, pathOf(sha256))
    await expect(cache.read(sha256)).rejects.toMatchObject({ code: 'ELOOP' })
  })

  test('can be dropped also when it is not there', async () => {
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    cache.drop(sha256)
    cache.drop(sha256)
    expect([await cache.has(sha256), cache.bytes()]).toEqual([false, 0])
    expect(put(cache, 'whole')).toBe(sha256)
    expect(cache.bytes()).toBe(5)
  })
})

describe('a file on its way into the cache', () => {
  test('leaves nothing when it is given up, and does not come back', async () => {
    const cache = await openCache()
    const sha256 = sha256Of(Buffer.from('whole'))
    const incoming = cache.receive(sha256)
    incoming.append(Buffer.from('who'))
    incoming.append(Buffer.from('le'))
    expect(incoming.received).toBe(5)
    expect(openFilesBelow(state)).toHaveLength(1)
    incoming.discard()
    incoming.discard()
    expect(openFilesBelow(state)).toEqual([])
    expect(incoming.finish()).toBe(false)
    expect(incomingNames()).toEqual([])
    expect(await cache.has(sha256)).toBe(false)
  })

  test('stays in the cache when it is given up after its end', async () => {
    const cache = await openCache()
    const sha256 = sha256Of(Buffer.from('whole'))
    const incoming = cache.receive(sha256)
    incoming.append(Buffer.from('whole'))
    expect(incoming.finish()).toBe(true)
    expect(openFilesBelow(state)).toEqual([])
    incoming.discard()
    expect((await cache.read(sha256)).toString()).toBe('whole')
    expect(incoming.finish()).toBe(false)
  })
})

describe('a trim', () => {
  /** Three files of nine bytes, the first one used longest ago. */
  async function three(limitBytes: number): Promise<{ cache: BlobCache; kept: () => Promise<boolean[]> }> {
    const cache = await openCache(limitBytes)
    const hashes = ['a', 'b', 'c'].map((letter) => put(cache, letter.repeat(9)))
    for (const [index, sha256] of hashes.entries()) utimesSync(pathOf(sha256), 1000 + index, 1000 + index)
    return { cache, kept: () => Promise.all(hashes.map((sha256) => cache.has(sha256))) }
  }

  test.each([
    // A cache that is just full stays as it is.
    [27, [true, true, true]],
    // Down to nine tenths of the limit: eighteen bytes of twenty.
    [20, [false, true, true]],
    [19, [false, false, true]],
    [9, [false, false, false]],
  ])('with a limit of %i bytes keeps of three files %j', async (limit, expected) => {
    const { cache, kept } = await three(limit)
    await cache.trim()
    expect(await kept()).toEqual(expected)
  })

  test('passes over what is no file of the cache', async () => {
    const { cache, kept } = await three(0)
    writeFileSync(join(state, 'cache', 'blobs', 'notes'), 'of somebody')
    await cache.trim()
    expect(await kept()).toEqual([false, false, false])
    expect(existsSync(join(state, 'cache', 'blobs', 'notes'))).toBe(true)
  })
})

describe('the time when a file was used', () => {
  const began = Date.parse('2026-11-20T08:00:00.000Z')

  test.each([
    ['not within an hour', HOUR_MS - 1, false],
    ['after an hour', HOUR_MS, true],
  ])('is noted on disk %s', async (_, later, isNoted) => {
    const clock = holdClock({ date: began })
    const cache = await openCache()
    const sha256 = put(cache, 'whole')
    utimesSync(pathOf(sha256), 1000, 1000)
    clock.move(later)
    expect(await cache.has(sha256)).toBe(true)
    expect(statSync(pathOf(sha256)).mtimeMs).toBe(isNoted ? began + later : 1_000_000)
  })

  test('is noted at the first use by the next agent', async () => {
    const sha256 = put(await openCache(), 'whole')
    utimesSync(pathOf(sha256), 1000, 1000)
    expect(await (await openCache()).has(sha256)).toBe(true)
    expect(statSync(pathOf(sha256)).mtimeMs).toBeGreaterThan(1_000_000)
  })
})

test('a shard that is no folder hides no other files of the cache', async () => {
  put(await openCache(), 'whole')
  mkdirSync(dirname(pathOf('zz')), { recursive: true })
  symlinkSync('nowhere', pathOf('zz'))
  expect((await openCache()).bytes()).toBe(5)
})
