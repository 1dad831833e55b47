import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { openUploadFolder } from '../../../control-plane/src/uploads/upload-folder.js'
import { syncedFiles } from '../../support/synced-files.js'

const NAME = 'a'.repeat(32)
let path: string
beforeEach(() => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  onTestFinished(() => rmSync(path, { recursive: true }))
})
const opened = () => openUploadFolder({ path, random: randomBytes, freeBytes: () => Promise.resolve(2 ** 40) })

test('a file is there under its name only when it is complete and safely on the disk: its bytes first', async () => {
  const writer = await (await opened()).begin(0)
  await writer.write(Buffer.from('hello'))
  const [partial = ''] = readdirSync(path)
  expect(partial).toMatch(/\.part$/)
  const synced = await syncedFiles()
  const { storedName } = await writer.keep()
  expect(synced).toEqual([join(path, partial), path])
  expect(readdirSync(path)).toEqual([storedName])
})

test('a stored file that became shorter while it was sent ends the sending with an error', async () => {
  const content = randomBytes(600_000)
  writeFileSync(join(path, NAME), content)
  const read = await (await opened()).read(NAME, content.length, 0)
  truncateSync(join(path, NAME), 300_000)
  const all = async () => {
    for await (const piece of read ?? []) expect(piece.length).toBeGreaterThan(0)
  }
  await expect(all()).rejects.toThrow('became shorter while it was sent')
})
