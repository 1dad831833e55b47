import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { filesOf, type PartPlaces, PartWriter } from '../../control-plane/src/backup/parts.js'
import { type BackupRecord, PARTS } from '../../control-plane/src/backup/records.js'

const MEBIBYTE = 1024 * 1024

/** An installation with these files, in a folder of its own. */
function installation(files: Readonly<Record<string, Buffer | string>> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-parts-'))
  onTestFinished(() => {
    rmSync(root, { recursive: true })
  })
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content, { mode: 0o640 })
  }
  const at = (name: string) => join(root, name)
  const places: PartPlaces = {
    forms: at('forms'),
    workflows: at('workflows'),
    playbooks: at('playbooks'),
    uploads: at('uploads'),
    config: [at('config.yaml'), at('categories.yaml')],
    secrets: [at('encryption-secret')],
  }
  return { root, at, places, paths: () => filesBelow(root) }
}

/** All files below a folder, by their paths from there. */
function filesBelow(root: string): string[] {
  return readdirSync(root, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort()
}

async function all(records: AsyncIterable<BackupRecord>): Promise<BackupRecord[]> {
  const found: BackupRecord[] = []
  for await (const record of records) found.push(record)
  return found
}

test('the files of all parts come back unchanged, with their rights and in any size', async () => {
  const large = Buffer.alloc(2 * MEBIBYTE + 17, 'holdfast ')
  const from = installation({
    'forms/a.yml': 'name: a\n',
    'playbooks/roles/web/empty.yml': '',
    'playbooks/large.bin': large,
    'categories.yaml': 'x: 1\n',
    'encryption-secret': 'secret',
  })
  const records = await all(filesOf(from.places, PARTS))

  const to = installation()
  const writer = new PartWriter(to.places, PARTS, false)
  for (const record of records) await writer.take(record)
  expect(to.paths()).toEqual(from.paths())
  for (const path of from.paths()) {
    expect(readFileSync(to.at(path)).equals(readFileSync(from.at(path)))).toBe(true)
    expect(statSync(to.at(path)).mode & 0o777).toBe(0o640)
  }
})

test('a file that grows meanwhile is stored with its first size, and one that shrinks ends the backup', async () => {
  const { at, places } = installation({ 'forms/log.txt': 'x'.repeat(10), 'uploads/a': 'y'.repeat(10) })
  const growing = filesOf(places, ['forms'])
  expect((await growing.next()).value).toMatchObject({ type: 'file', size: 10 })
  appendFileSync(at('forms/log.txt'), 'z'.repeat(2 * MEBIBYTE))
  expect(await all(growing)).toEqual([{ type: 'data', data: Buffer.from('x'.repeat(10)).toString('base64') }])

  const shrinking = filesOf(places, ['uploads'])
  await shrinking.next()
  truncateSync(at('uploads/a'), 4)
  await expect(all(shrinking)).rejects.toMatchObject({ code: 'file_changed' })
})

test('only files that are removed meanwhile are left out', async () => {
  const { at, places } = installation({
    'uploads/a/1': 'one',
    'uploads/b/gone': 'gone',
    'uploads/c/gone': 'gone',
    'uploads/c/left': 'left',
    'uploads/d': 'last',
  })
  const records = filesOf(places, ['uploads'])
  const first = (await records.next()).value as BackupRecord
  for (const path of ['uploads/b', 'uploads/c/gone']) rmSync(at(path), { recursive: true })
  const found = [first, ...(await all(records))].flatMap((record) => (record.type === 'file' ? [record.path] : []))
  expect(found).toEqual(['a/1', 'c/left', 'd'])
})

test('only the wanted files are written, and only below their folder', async () => {
  const { places, paths, at } = installation({ 'forms/a.yml': 'old' })
  const writer = new PartWriter(places, ['forms', 'config'], false)
  expect(await writer.place('playbooks', 'a.yml')).toBeNull()
  expect(await writer.place('config', 'other.yaml')).toBeNull()
  expect(await writer.place('config', 'config.yaml')).toBe(at('config.yaml'))
  expect(await writer.place('forms', 'b/c.yml')).toBe(at('forms/b/c.yml'))
  await expect(writer.place('forms', '../config.yaml')).rejects.toMatchObject({ code: 'damaged' })
  await expect(writer.place('forms', 'a.yml')).rejects.toMatchObject({ code: 'file_exists' })
  expect(await new PartWriter(places, ['forms'], true).place('forms', 'a.yml')).toBe(at('forms/a.yml'))

  // The bytes of a file that is not wanted go nowhere.
  await writer.take({ type: 'file', part: 'playbooks', path: 'x.yml', mode: 0o600, size: 3 })
  await writer.take({ type: 'data', data: Buffer.from('xyz').toString('base64') })
  expect(paths()).toEqual(['forms/a.yml'])
})

test('a folder is read with its links left out, and files of each part by their names', async () => {
  const { at, places } = installation({ 'forms/b/a.yml': '', 'forms/a.yml': '', 'forms/c.yml': '' })
  symlinkSync(at('forms/a.yml'), at('forms/link.yml'))
  symlinkSync(at('forms/b'), at('forms/folder'))
  const records = await all(filesOf(places, ['forms', 'workflows']))
  expect(records.map((record) => record.type === 'file' && record.path)).toEqual(['a.yml', 'b/a.yml', 'c.yml'])
  // A folder in the place of a file is not one.
  mkdirSync(at('config.yaml'))
  expect(await all(filesOf(places, ['config']))).toEqual([])
})

test('an incomplete file leaves nothing', async () => {
  const { places, paths } = installation()
  const writer = new PartWriter(places, PARTS, false)
  await writer.take({ type: 'file', part: 'forms', path: 'a.yml', mode: 0o600, size: 6 })
  await writer.take({ type: 'data', data: Buffer.from('abc').toString('base64') })
  expect(paths()).toEqual(['forms/a.yml.restoring'])
  await writer.abandon()
  expect(paths()).toEqual([])
  await writer.abandon()
})

/** From now on, files of this process take at most so many bytes of each write. */
async function shortenWrites(most: number): Promise<void> {
  const probe = await open(tmpdir(), 'r')
  const files = Object.getPrototypeOf(probe) as Pick<FileHandle, 'write'>
  await probe.close()
  const whole = files.write as (this: unknown, bytes: Uint8Array) => Promise<{ bytesWritten: number }>
  const spy = vi.spyOn(files, 'write').mockImplementation(function (this: unknown, bytes: unknown) {
    return whole.call(this, Buffer.from(bytes as string).subarray(0, most)) as never
  })
  onTestFinished(() => spy.mockRestore())
}

test('a file is written completely when the disk takes them in pieces', async () => {
  const { at, places } = installation({ 'forms/a.yml': '' })
  await shortenWrites(5)
  const content = 'more than five bytes'
  const records: BackupRecord[] = [
    { type: 'file', part: 'forms', path: 'a.yml', mode: 0o600, size: content.length },
    { type: 'data', data: Buffer.from(content).toString('base64') },
  ]
  const writer = new PartWriter(places, PARTS, true)
  for (const record of records) await writer.take(record)
  expect(readFileSync(at('forms/a.yml'), 'utf8')).toBe(content)
})
