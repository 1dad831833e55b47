import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openStore, openStoreBeside } from '../../../control-plane/src/store/open-store.js'

function folderOfTest(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-beside-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  return folder
}

/** The files below a folder that this process has open. */
function openFilesBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return [readlinkSync(`/proc/self/fd/${number}`)].filter((path) => path.startsWith(folder))
    } catch {
      // Closed in the meantime.
      return []
    }
  })
}

test('a database without tables is refused, is left as it is, and no file of it stays open', async () => {
  const folder = folderOfTest()
  const path = join(folder, 'holdfast.db')
  writeFileSync(path, '')
  await expect(openStoreBeside({ kind: 'sqlite', path }, null)).rejects.toMatchObject({
    code: 'other_tables',
    message: expect.stringContaining('were never made') as string,
  })
  expect(openFilesBelow(folder)).toEqual([])
})

test('a database of this release is opened beside another one that has it open', async () => {
  const folder = folderOfTest()
  const place = { kind: 'sqlite', path: join(folder, 'holdfast.db') } as const
  const owner = await openStore(place)
  const beside = await openStoreBeside(place, process.getuid?.() ?? null)
  expect(await beside.read.selectFrom('job').select('id').execute()).toEqual([])
  await beside.close()
  await owner.close()
})

test('a database that is not there, or belongs to somebody else, is not opened', async () => {
  const path = join(folderOfTest(), 'holdfast.db')
  await expect(openStoreBeside({ kind: 'sqlite', path }, null)).rejects.toMatchObject({ code: 'no_database' })
  writeFileSync(path, '')
  const other = (process.getuid?.() ?? 0) + 1
  await expect(openStoreBeside({ kind: 'sqlite', path }, other)).rejects.toMatchObject({ code: 'not_owner' })
})
