import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { syncedFiles } from '../../support/synced-files.js'
import { openUploadFolder } from '../../../control-plane/src/uploads/upload-folder.js'

const MIB = 1024 * 1024
/** What uploads leave free on the disk. */
const KEPT_FREE = 64 * MIB
const NAME = 'a'.repeat(32)

let path: string
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
})

/** Puts a file there that was last changed at a time, in seconds since 1970. */
function put(name: string, seconds = 999, content: Buffer | string = ''): string {
  writeFileSync(join(path, name), content)
  utimesSync(join(path, name), seconds, seconds)
  return name
}

const opened = (freeBytes = () => Promise.resolve(KEPT_FREE + 100 * MIB)) =>
  openUploadFolder({ path, random: randomBytes, freeBytes })

async function bytesOf(content: AsyncIterable<Buffer> | null): Promise<Buffer> {
  const pieces: Buffer[] = []
  for await (const piece of content ?? []) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** The files of the folder that this process has open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${number}`)
      return file.startsWith(path) ? [file] : []
    } catch {
      return []
    }
  })

describe('old files', () => {
  test('are files of uploads that were last changed before a time, whole or unfinished', async () => {
    const old = [put(NAME), put(`${'b'.repeat(32)}.part`)]
    put('c'.repeat(32), 1001)
    put(`${'d'.repeat(32)}.part`, 1001)
    put('e'.repeat(32), 1000)
    put('of-somebody-else')
    mkdirSync(join(path, 'f'.repeat(32)))
    const folder = await openUploadFolder({ path, random: randomBytes })
    const found: string[] = []
    for await (const names of folder.oldNames(1_000_000)) found.push(...names)
    expect(found.sort()).toEqual(old)
  })

  test.each([
    [0, []],
    [499, [499]],
    [500, [500]],
    [501, [500, 1]],
  ])('%i of them come in batches of %j', async (count, batches) => {
    for (let number = 0; number < count; number += 1) put(number.toString(16).padStart(32, '0'))
    const folder = await opened()
    const found: string[][] = []
    for await (const names of folder.oldNames(1_000_000)) found.push(names)
    expect(found.map(({ length }) => length)).toEqual(batches)
    expect(new Set(found.flat()).size).toBe(count)
  })
})

describe('a file that is written', () => {
  test('is there under its name only when it is complete', async () => {
    const folder = await opened()
    const writer = await folder.begin(0)
    await writer.write(Buffer.from('hello '))
    await writer.write(Buffer.from('world'))
    expect(writer.size).toBe(11)
    const [partial] = readdirSync(path)
    expect(partial).toMatch(/^[0-9a-f]{32}\.part$/)
    const synced = await syncedFiles()
    const stored = await writer.keep()
    // Its bytes first, then its name.
    expect(synced).toEqual([join(path, partial ?? ''), path])
    expect(openFiles()).toEqual([])
    expect(stored).toEqual({
      storedName: partial?.replace('.part', ''),
      size: 11,
      sha256: createHash('sha256').update('hello world').digest('hex'),
    })
    expect(readdirSync(path)).toEqual([stored.storedName])
    expect(readFileSync(join(path, stored.storedName), 'utf8')).toBe('hello world')
  })

  test('goes when it is discarded, before it is complete and after it, and once more is once too often for nobody', async () => {
    const folder = await opened()
    const writer = await folder.begin(0)
    await writer.write(Buffer.from('x'))
    expect(openFiles()).toHaveLength(1)
    await writer.discard()
    expect([readdirSync(path), openFiles()]).toEqual([[], []])
    await writer.discard()
    const kept = await folder.begin(0)
    await kept.keep()
    await kept.discard()
    expect(readdirSync(path)).toEqual([])
  })

  test('cannot be kept when somebody removed it', async () => {
    const writer = await (await opened()).begin(0)
    for (const name of readdirSync(path)) rmSync(join(path, name))
    await expect(writer.keep()).rejects.toMatchObject({ code: 'upload_not_stored' })
  })
})

describe('the room on the disk', () => {
  test('that stays free is exactly 64 MiB', async () => {
    let free = KEPT_FREE + 10
    const folder = await opened(() => Promise.resolve(free))
    await folder.requireRoom(10)
    await expect(folder.requireRoom(11)).rejects.toMatchObject({ code: 'upload_disk_full' })
    await (await folder.begin(10)).discard()
    await expect(folder.begin(11)).rejects.toMatchObject({ code: 'upload_disk_full' })
    expect(readdirSync(path)).toEqual([])
    free = KEPT_FREE - 1
    await expect(folder.requireRoom(0)).rejects.toMatchObject({ code: 'upload_disk_full' })
  })

  test('is looked at again after each 16 MiB', async () => {
    let looks = 0
    const folder = await opened(() => {
      looks += 1
      return Promise.resolve(KEPT_FREE)
    })
    const writer = await folder.begin(0)
    const looksAfter = async (bytes: number) => {
      await writer.write(Buffer.alloc(bytes))
      return looks
    }
    expect(await looksAfter(16 * MIB)).toBe(1)
    expect(await looksAfter(1)).toBe(2)
    expect(await looksAfter(16 * MIB - 1)).toBe(2)
    expect(await looksAfter(1)).toBe(3)
    await writer.discard()
  })

  test.each([
    ['a full disk', { errno: -constants.errno.ENOSPC }, 'upload_disk_full'],
    ['a quota that is used up', { errno: -constants.errno.EDQUOT }, 'upload_disk_full'],
    ['a broken disk', { errno: -constants.errno.EIO }, 'upload_not_stored'],
    ['anything else', {}, 'upload_not_stored'],
  ])('%s is said to users', async (_what, fields, code) => {
    const cause = Object.assign(new Error('the disk says no'), fields)
    const folder = await opened(() => Promise.reject(cause))
    await expect(folder.begin(0)).rejects.toMatchObject({ code })
  })
})

test('a path is one of the folder when its last part is a stored name right below it', async () => {
  const link = `${path}-link`
  symlinkSync(path, link)
  onTestFinished(() => rmSync(link))
  const folder = await openUploadFolder({ path: link, random: randomBytes })
  expect(folder.path).toBe(link)
  const found = [`${link}/${NAME}`, `${path}/${NAME}`, `${link}/x/../${NAME}`, `${link}//./${NAME}`]
  expect(found.map((claimed) => folder.storedNameOf(claimed))).toEqual(found.map(() => NAME))
  for (const claimed of [
    NAME,
    `uploads/${NAME}`,
    `/tmp/${NAME}`,
    `${link}/sub/${NAME}`,
    `${link}/${NAME}.part`,
    `${link}/${NAME.toUpperCase()}`,
    `${link}/${NAME}\0`,
    `${link}/\0/../${NAME}`,
    `${link}/${NAME}/..`,
    link,
  ]) {
    expect([claimed, folder.storedNameOf(claimed)]).toEqual([claimed, null])
  }
})

describe('a stored file', () => {
  const content = randomBytes(600_000)

  test('is read from any byte on', async () => {
    put(NAME, 1, content)
    const folder = await opened()
    for (const from of [0, 1, 256 * 1024, 599_999, 600_000]) {
      const read = await bytesOf(await folder.read(NAME, content.length, from))
      expect([from, read.equals(content.subarray(from))]).toEqual([from, true])
    }
  })

  test('that has another size, is no plain file or is not there has no content', async () => {
    put(NAME, 1, content)
    put('b'.repeat(32), 1, content)
    rmSync(join(path, 'b'.repeat(32)))
    symlinkSync(join(path, NAME), join(path, 'b'.repeat(32)))
    mkdirSync(join(path, 'c'.repeat(32)))
    put('other-name', 1, content)
    const folder = await opened()
    const namesOf = (letter: string) => letter.repeat(32)
    expect(await folder.read(NAME, content.length - 1, 0)).toBeNull()
    for (const name of [namesOf('b'), namesOf('c'), namesOf('d'), 'other-name', `../${NAME}`]) {
      expect([name, await folder.sizeOf(name)]).toEqual([name, null])
      expect([name, await folder.read(name, content.length, 0)]).toEqual([name, null])
    }
    expect(await folder.sizeOf(NAME)).toBe(content.length)
    expect(openFiles()).toEqual([])
  })

  test('that became shorter while it was sent ends the sending with an error', async () => {
    put(NAME, 1, content)
    const read = await (await opened()).read(NAME, content.length, 0)
    truncateSync(join(path, NAME), 300_000)
    await expect(bytesOf(read)).rejects.toThrow('an uploaded file became shorter while it was sent')
    expect(openFiles()).toEqual([])
  })

  test('is removed, whole or unfinished, and files of others stay', async () => {
    const folder = await opened()
    for (const name of [put(NAME), put(`${NAME}.part`), 'b'.repeat(32)]) await folder.remove(name)
    const others = [put('of-somebody-else'), put(`${NAME}.parts`)]
    for (const name of others) await folder.remove(name)
    expect(readdirSync(path).sort()).toEqual(others.sort())
  })
})

test('the folder is made for its owner only', async () => {
  const below = join(path, 'deep/uploads')
  await openUploadFolder({ path: below, random: randomBytes })
  expect(existsSync(below)).toBe(true)
})
