import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import fsp from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openUploadStore, type UploadStore } from '../../../runner-agent/src/files/upload-store.js'
import { sha256Of } from '../../agent/fake-control-plane.js'
import { openFilesBelow } from '../../agent/open-files.js'
import { holdClock } from '../../agent/held-clock.js'

/** Uploaded files of jobs while they are not whole yet. */
const DAY_MS = 24 * 3_600_000
const MEBIBYTE = 1024 * 1024
const NEVER = new AbortController().signal
const CONTENT = Buffer.from('cats and more cats')
const HASH = sha256Of(CONTENT)

let state: string
let folder: string
let store: UploadStore

beforeEach(async () => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
  folder = join(state, 'cache', 'uploads')
  store = openUploadStore(state)
  await store.prepare()
})

/** Brings bytes into the store, as one connection does. */
async function bring(bytes: Buffer, sha256 = HASH, size = CONTENT.length): Promise<boolean> {
  const incoming = await store.resume(sha256, size, NEVER)
  incoming.append(bytes)
  if (incoming.received === size) return incoming.finish()
  incoming.suspend()
  return false
}

/** Sets the clock to so long after a file was written last. */
function laterThan(name: string, milliseconds: number): void {
  const written = new Date('2026-11-20T08:00:00.000Z')
  utimesSync(join(folder, name), written, written)
  holdClock({ date: written.getTime() + milliseconds })
}

describe('an upload that comes in', () => {
  test('is whole when all of its bytes are there and are what its hash says', async () => {
    expect(await bring(CONTENT)).toBe(true)
    expect(readFileSync(join(folder, HASH))).toEqual(CONTENT)
    expect(statSync(join(folder, HASH)).mode & 0o777).toBe(0o600)
    const other = sha256Of(Buffer.from('other'))
    expect(await bring(CONTENT, other)).toBe(false)
  })

  test('is open only while somebody works at it', async () => {
    const incoming = await store.resume(HASH, CONTENT.length, NEVER)
    expect(openFilesBelow(state)).toHaveLength(1)
    incoming.suspend()
    expect(openFilesBelow(state)).toEqual([])
    await bring(CONTENT)
    expect(openFilesBelow(state)).toEqual([])
  })

  test('goes on after the bytes that an earlier connection has brought', async () => {
    expect(await bring(CONTENT.subarray(0, 4))).toBe(false)
    const again = openUploadStore(state)
    await again.prepare()
    const incoming = await again.resume(HASH, CONTENT.length, NEVER)
    expect(incoming.received).toBe(4)
    incoming.append(CONTENT.subarray(4, 9))
    incoming.append(CONTENT.subarray(9))
    expect(incoming.received).toBe(CONTENT.length)
    expect(incoming.finish()).toBe(true)
    // Said after its end, it changes nothing.
    incoming.suspend()
    expect(readFileSync(join(folder, HASH))).toEqual(CONTENT)
  })

  test('is there to its end when a file of its size is found, and begins anew when a longer one is', async () => {
    await bring(CONTENT)
    const whole = await store.resume(HASH, CONTENT.length, NEVER)
    expect(whole.received).toBe(CONTENT.length)
    expect(whole.finish()).toBe(true)
    const short = CONTENT.subarray(0, CONTENT.length - 1)
    const anew = await store.resume(HASH, short.length, NEVER)
    expect(anew.received).toBe(0)
    anew.suspend()
    expect(statSync(join(folder, HASH)).size).toBe(0)
  })

  test('is refused as on a full disk when there is no room for the rest of it', async () => {
    const refused = store.resume(HASH, 2 ** 52, NEVER)
    await expect(refused).rejects.toMatchObject({ code: 'ENOSPC' })
    await expect(refused).rejects.toThrow(`an uploaded file of ${2 ** 52} bytes`)
    expect(readdirSync(folder)).toEqual([])
  })

  test.each([
    ['no more than it needs beside what jobs keep free', 64 * MEBIBYTE + 7, true],
    ['a byte less', 64 * MEBIBYTE + 6, false],
  ])('with %s on the disk: %i bytes, %s', async (_, free, isTaken) => {
    await bring(CONTENT.subarray(0, CONTENT.length - 7))
    const looking = vi.spyOn(fsp, 'statfs').mockResolvedValue({ bavail: free, bsize: 1 } as never)
    syncBuiltinESMExports()
    onTestFinished(() => {
      looking.mockRestore()
      syncBuiltinESMExports()
    })
    const resumed = store.resume(HASH, CONTENT.length, NEVER)
    if (isTaken) (await resumed).suspend()
    else await expect(resumed).rejects.toMatchObject({ code: 'ENOSPC' })
  })

  test('is not read again for a job that was given up', async () => {
    await bring(CONTENT.subarray(0, 4))
    await expect(store.resume(HASH, CONTENT.length, AbortSignal.abort(new Error('given up')))).rejects.toThrow()
  })
})

describe('a whole upload', () => {
  const place = (name: string): string => join(state, 'job', name, 'cats.txt')

  test('moves to its place, and leaves the store', async () => {
    await bring(CONTENT)
    await store.alone(HASH, () => store.place(HASH, [place('1')]))
    expect(readFileSync(place('1'))).toEqual(CONTENT)
    expect(statSync(dirname(place('1'))).mode & 0o777).toBe(0o700)
    expect(readdirSync(folder)).toEqual([])
  })

  test('comes to each place that its job wants it in', async () => {
    await bring(CONTENT)
    await store.place(HASH, [place('1'), place('2'), place('3')])
    for (const name of ['1', '2', '3']) expect(readFileSync(place(name))).toEqual(CONTENT)
    expect(readdirSync(folder)).toEqual([])
  })

  test('stays in the store when no place is named', async () => {
    await bring(CONTENT)
    await store.place(HASH, [])
    expect(readdirSync(folder)).toEqual([HASH])
  })

  test('stays for another job that waits for it, and each has its own file', async () => {
    await bring(CONTENT)
    const first = store.alone(HASH, async () => {
      await store.place(HASH, [place('1')])
      return existsSync(join(folder, HASH))
    })
    const second = store.alone(HASH, async () => {
      await store.place(HASH, [place('2')])
      return existsSync(join(folder, HASH))
    })
    expect(await Promise.all([first, second])).toEqual([true, false])
    expect(statSync(place('1')).ino).not.toBe(statSync(place('2')).ino)
    expect([readFileSync(place('1')), readFileSync(place('2'))]).toEqual([CONTENT, CONTENT])
  })

  test('can be removed, also when it is not there', async () => {
    await bring(CONTENT)
    await store.remove(HASH)
    await store.remove(HASH)
    expect(readdirSync(folder)).toEqual([])
  })
})

test('tasks of one upload run one after the other, those of two at the same time', async () => {
  const order: string[] = []
  const task = (name: string) => async (): Promise<void> => {
    order.push(`${name} begins`)
    await new Promise((resolve) => setImmediate(resolve))
    order.push(`${name} ends`)
  }
  await Promise.all([store.alone('a', task('a1')), store.alone('a', task('a2')), store.alone('b', task('b'))])
  expect(order).toEqual(['a1 begins', 'b begins', 'a1 ends', 'a2 begins', 'b ends', 'a2 ends'])
})

describe('a file that lies in the store', () => {
  test.each([
    ['a day', DAY_MS, true],
    ['a day and a millisecond', DAY_MS + 1, false],
  ])('for %s is there after the next start: %s ms, %s', async (_, age, stays) => {
    await bring(CONTENT)
    laterThan(HASH, age)
    await openUploadStore(state).prepare()
    expect(existsSync(join(folder, HASH))).toBe(stays)
  })

  test('for too long is removed when another upload begins, but not while somebody works at it', async () => {
    await bring(CONTENT)
    laterThan(HASH, 2 * DAY_MS)
    await store.alone(HASH, async () => {
      const incoming = await store.resume(HASH, CONTENT.length, NEVER)
      incoming.suspend()
      expect(incoming.received).toBe(CONTENT.length)
    })
    const other = Buffer.from('dogs')
    await bring(other, sha256Of(other), other.length)
    expect(readdirSync(folder)).toEqual([sha256Of(other)])
  })

  test('for too long may go at the same moment by another hand', async () => {
    await bring(CONTENT)
    laterThan(HASH, 2 * DAY_MS)
    const looking = vi.spyOn(fsp, 'stat').mockImplementation(((path: string) => {
      const found = statSync(path)
      rmSync(path)
      return Promise.resolve(found)
    }) as never)
    syncBuiltinESMExports()
    onTestFinished(() => {
      looking.mockRestore()
      syncBuiltinESMExports()
    })
    await openUploadStore(state).prepare()
    expect(readdirSync(folder)).toEqual([])
  })

  test('is kept when the store is prepared again, and a missing folder is made', async () => {
    await bring(CONTENT)
    await store.prepare()
    expect(readdirSync(folder)).toEqual([HASH])
    rmSync(join(state, 'cache'), { recursive: true })
    mkdirSync(join(state, 'cache'))
    await store.prepare()
    expect(readdirSync(folder)).toEqual([])
    expect(statSync(folder).mode & 0o777).toBe(0o700)
  })
})
