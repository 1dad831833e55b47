import fs, {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open, readFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import * as v from 'valibot'
import {
  createDurably,
  syncFolder,
  writeDurably,
  writeDurablySync,
  writeReplacing,
  writeSynced,
} from '../../../protocol/host/src/durable.js'
import { isErrno, isNoFile, isPassing, unlessMissing } from '../../../protocol/host/src/system-errors.js'
import { codeOf, lookAt, readFact } from '../../../runner-agent/src/host/fact.js'
import { openFilesBelow } from '../../agent/open-files.js'

let folder: string
let path: string
/** What was synced, in order: `file` or `folder`, and the names in the folder at that moment. */
let synced: { what: string; names: string[] }[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-durable-'))
  path = join(folder, 'name')
  synced = []
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

const noteSync = (isFolder: boolean): void => {
  const names = readdirSync(folder).map((name) => (name.endsWith('.tmp') ? 'temporary' : name))
  synced.push({ what: isFolder ? 'folder' : 'file', names })
}

/** From now on each sync is noted. */
async function noteSyncs(): Promise<void> {
  const handle = await open('/dev/null')
  const prototype = Object.getPrototypeOf(handle) as FileHandle
  await handle.close()
  const { sync } = prototype
  const spies = [
    vi.spyOn(prototype, 'sync').mockImplementation(async function (this: FileHandle) {
      noteSync((await this.stat()).isDirectory())
      return sync.call(this)
    }),
    vi.spyOn(fs, 'fsyncSync').mockImplementation((descriptor) => {
      noteSync(fs.fstatSync(descriptor).isDirectory())
    }),
  ]
  syncBuiltinESMExports()
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore()
    syncBuiltinESMExports()
  })
}

const WRITERS: [string, (text: string) => unknown][] = [
  ['writeDurably', (text) => writeDurably(path, text)],
  ['writeDurably by a given name', (text) => writeDurably(path, text, `${path}.new.tmp`)],
  ['writeDurablySync', (text) => writeDurablySync(path, text)],
]

describe.each(WRITERS)('%s', (_, write) => {
  test('syncs the bytes before the name, and the name before it is done', async () => {
    await noteSyncs()
    await write('new')
    expect(synced).toEqual([
      { what: 'file', names: ['temporary'] },
      { what: 'folder', names: ['name'] },
    ])
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(openFilesBelow(folder)).toEqual([])
  })

  test('replaces what was there, and leaves nothing when it cannot', async () => {
    await write('old')
    await write('new')
    expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['new', ['name']])
    rmSync(path)
    mkdirSync(path)
    writeFileSync(join(path, 'in it'), '')
    await expect((async () => write('newer'))()).rejects.toThrow()
    expect(readdirSync(folder)).toEqual(['name'])
    expect(openFilesBelow(folder)).toEqual([])
  })

  test('says that there is no such folder', async () => {
    rmSync(folder, { recursive: true })
    await expect((async () => write('new'))()).rejects.toMatchObject({ code: 'ENOENT' })
    mkdirSync(folder)
  })
})

test('what a crash left under the given name goes away', async () => {
  const left = `${path}.new`
  writeFileSync(left, 'longer than the new text', { mode: 0o644 })
  await writeDurably(path, 'new', left)
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['new', ['name']])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('what is not there is said in another way, and no other error is hidden', async () => {
  expect(await unlessMissing(readFile(path, 'utf8'), null)).toBeNull()
  writeFileSync(path, 'text')
  expect(await unlessMissing(readFile(path, 'utf8'), null)).toBe('text')
  await expect(unlessMissing(readFile(folder, 'utf8'), null)).rejects.toMatchObject({ code: 'EISDIR' })
})

test('a file is created once, durably, and what is there already stays as it is', async () => {
  await noteSyncs()
  expect(await createDurably(path, 'first')).toBe(true)
  expect(synced.map(({ what }) => what)).toEqual(['file', 'folder'])
  expect(await createDurably(path, 'second')).toBe(false)
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['first', ['name']])
  await expect(createDurably(join(folder, 'nowhere', 'name'), 'text')).rejects.toMatchObject({ code: 'ENOENT' })
})

test('a synced file is new, has its bytes on the disk, and is closed', async () => {
  await noteSyncs()
  await writeSynced(path, 'text')
  expect([synced.length, readFileSync(path, 'utf8')]).toEqual([1, 'text'])
  await expect(writeSynced(path, 'other')).rejects.toMatchObject({ code: 'EEXIST' })
  await syncFolder(folder)
  expect(synced.map(({ what }) => what)).toEqual(['file', 'folder'])
  expect(openFilesBelow(folder)).toEqual([])
})

test('a replaced file is never seen half written', async () => {
  await writeReplacing(path, 'old')
  const { ino } = statSync(path)
  await writeReplacing(path, 'new')
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['new', ['name']])
  expect(statSync(path).ino).not.toBe(ino)
})

describe('an error of the system', () => {
  const errorOf = (code: string, errno?: number): Error => Object.assign(new Error(code), { code, errno })

  test.each<[string, unknown, boolean]>([
    ['with that code', errorOf('ENOSPC'), true],
    ['with that number and no name of its own', errorOf('Unknown system error -28', -28), true],
    ['of another code', errorOf('EIO'), false],
    ['of another number', errorOf('EIO', -5), false],
    ['without a code', new Error('ENOSPC'), false],
    ['that is none', { code: 'ENOSPC' }, false],
    ['that is nothing', null, false],
  ])('%s is one of a full disk or not', (_, error, expected) => {
    expect(isErrno(error, 'EDQUOT', 'ENOSPC')).toBe(expected)
  })

  test('is not met by a code that this system does not have', () => {
    expect(isErrno(Object.assign(new Error('x'), { code: 'EIO' }), 'ENOSUCHCODE')).toBe(false)
  })

  test.each(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT'])(
    'of the moment says nothing about the file: %s',
    (code) => {
      expect(isPassing(errorOf(code))).toBe(true)
    },
  )

  test.each(['ENOENT', 'ENOSPC', 'EROFS', 'EPERM', 'EISDIR'])(
    'that is not of the moment is one of the file: %s',
    (code) => {
      expect(isPassing(errorOf(code))).toBe(false)
    },
  )

  test('says when a name is that of no file', () => {
    expect(['EISDIR', 'ELOOP', 'ENOENT'].map((code) => isNoFile(errorOf(code)))).toEqual([true, true, false])
  })

  test.each<[unknown, string]>([
    [errorOf('EIO'), 'EIO'],
    [new Error('words'), 'words'],
    [Object.assign(new Error('words'), { code: 7 }), 'words'],
    ['a text', 'a text'],
  ])('is named by its code, or by its words: %s', (error, expected) => {
    expect(codeOf(error)).toBe(expected)
  })
})

describe('a look at a small file', () => {
  const schema = v.object({ a: v.number() })

  test('finds it whole, torn or not at all', () => {
    expect(readFact(path, schema)).toEqual({ kind: 'absent' })
    writeFileSync(path, '{"a": 1}')
    expect(readFact(path, schema)).toEqual({ kind: 'present', content: { a: 1 } })
    for (const text of ['', '{"a":', '{"a": "1"}', 'null']) {
      writeFileSync(path, text)
      expect(readFact(path, schema)).toEqual({ kind: 'torn' })
    }
  })

  test('takes a folder or a link to itself for torn, and what it cannot look at for unknown', () => {
    expect(readFact(folder, schema)).toEqual({ kind: 'torn' })
    symlinkSync('loop', join(folder, 'loop'))
    expect(lookAt(join(folder, 'loop'))).toEqual({ kind: 'torn' })
    writeFileSync(path, '')
    expect(readFact(join(path, 'below'), schema)).toEqual({ kind: 'unknown', code: 'ENOTDIR' })
    expect(lookAt(path)).toEqual({ kind: 'present', content: String(statSync(path, { bigint: true }).ino) })
  })
})
