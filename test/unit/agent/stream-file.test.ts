import { appendFileSync, mkdtempSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createStreamFile } from '../../../runner-agent/src/spool/stream-file.js'

/** A stream of a job, with these bytes. */
function streamOf(content: string) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-stream-'))
  const path = join(folder, 'output')
  writeFileSync(path, content)
  const file = createStreamFile(path)
  onTestFinished(async () => {
    await file.close()
    rmSync(folder, { recursive: true })
  })
  const read = async (offset: number, length: number) => (await file.read(offset, Buffer.alloc(length))).toString()
  return { path, file, read }
}

test('a stream is read from any offset, and less than asked for only at its end', async () => {
  const { path, read } = streamOf('0123456789')
  expect([await read(0, 4), await read(4, 6), await read(8, 5), await read(10, 5)]).toEqual([
    '0123',
    '456789',
    '89',
    '',
  ])
  appendFileSync(path, 'ab')
  expect(await read(8, 10)).toBe('89ab')
})

test('the length of an opened stream is that of the opened file, also when its name is gone', async () => {
  const { path, file, read } = streamOf('0123')
  expect(file.size()).toBe(4)
  await read(0, 1)
  unlinkSync(path)
  writeFileSync(path, 'another file')
  expect(file.size()).toBe(4)
  expect(await read(0, 20)).toBe('0123')
})

test('a closed stream is opened again by its name', async () => {
  const { path, file, read } = streamOf('0123')
  await read(0, 1)
  await file.close()
  unlinkSync(path)
  writeFileSync(path, 'another file')
  expect(file.size()).toBe(12)
  expect(await read(0, 20)).toBe('another file')
})

test('a stream that is closed while it opens is closed', async () => {
  const { path, file, read } = streamOf('0123')
  const reading = read(0, 4).catch((error: unknown) => error)
  await file.close()
  await reading
  unlinkSync(path)
  writeFileSync(path, 'another file')
  expect(file.size()).toBe(12)
})

test('a length that cannot be looked at is the last known one, and a file that was missing can come', async () => {
  const { path, file, read } = streamOf('0123')
  expect(file.size()).toBe(4)
  unlinkSync(path)
  expect(file.size()).toBe(4)
  await expect(read(0, 1)).rejects.toMatchObject({ code: 'ENOENT' })
  writeFileSync(path, 'here')
  expect(await read(0, 4)).toBe('here')
})
