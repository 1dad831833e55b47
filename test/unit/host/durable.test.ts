import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import * as v from 'valibot'
import { createDurably, writeDurably, writeDurablySync } from '../../../protocol/host/src/durable.js'
import { readFact } from '../../../runner-agent/src/host/fact.js'
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

  test('leaves nothing when it cannot replace what was there', async () => {
    mkdirSync(path)
    writeFileSync(join(path, 'in it'), '')
    await expect((async () => write('newer'))()).rejects.toThrow()
    expect(readdirSync(folder)).toEqual(['name'])
    expect(openFilesBelow(folder)).toEqual([])
  })
})

test('a file is created once, durably, and what is there already stays as it is', async () => {
  await noteSyncs()
  expect(await createDurably(path, 'first')).toBe(true)
  expect(synced.map(({ what }) => what)).toEqual(['file', 'folder'])
  expect(await createDurably(path, 'second')).toBe(false)
  expect([readFileSync(path, 'utf8'), readdirSync(folder)]).toEqual(['first', ['name']])
})

test('a small file is found whole, torn or not at all', () => {
  const schema = v.object({ a: v.number() })
  expect(readFact(path, schema)).toEqual({ kind: 'absent' })
  writeFileSync(path, '{"a": 1}')
  expect(readFact(path, schema)).toEqual({ kind: 'present', content: { a: 1 } })
  expect(readFact(join(path, 'below'), schema)).toEqual({ kind: 'unknown', code: 'ENOTDIR' })
  for (const text of ['', '{"a":', '{"a": "1"}']) {
    writeFileSync(path, text)
    expect(readFact(path, schema)).toEqual({ kind: 'torn' })
  }
})
