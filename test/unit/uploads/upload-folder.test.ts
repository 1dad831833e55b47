import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openUploadFolder } from '../../../control-plane/src/uploads/upload-folder.js'

const path = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
afterAll(() => rmSync(path, { recursive: true }))

/** Puts a file there that was last changed at a time, in seconds since 1970. */
function put(name: string, seconds: number): string {
  writeFileSync(join(path, name), '')
  utimesSync(join(path, name), seconds, seconds)
  return name
}

test('only files of uploads that were last changed before a time count as old, whole or unfinished', async () => {
  const old = [put('a'.repeat(32), 999), put(`${'b'.repeat(32)}.part`, 999)]
  put('c'.repeat(32), 1001)
  put(`${'d'.repeat(32)}.part`, 1001)
  put('of-somebody-else', 999)
  const folder = await openUploadFolder({ path, random: randomBytes })
  const found: string[] = []
  for await (const names of folder.oldNames(1_000_000)) found.push(...names)
  expect(found.sort()).toEqual(old)
})
