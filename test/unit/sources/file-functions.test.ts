import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFormFiles } from '../../../control-plane/src/sources/file-functions.js'

test('a recursive list goes 20 folders deep, and fails instead of leaving out deeper files', async () => {
  const root = mkdtempSync(join(tmpdir(), 'holdfast-files-'))
  onTestFinished(() => {
    rmSync(root, { recursive: true })
  })
  const deepest = Array.from({ length: 20 }, () => 'in').join('/')
  mkdirSync(join(root, deepest), { recursive: true })
  writeFileSync(join(root, deepest, 'a.txt'), '')
  const files = createFormFiles(root)
  expect(await files.list('.', { recursive: true, metadata: false })).toEqual([`${deepest}/a.txt`])

  mkdirSync(join(root, deepest, 'deeper'))
  await expect(files.list('.', { recursive: true, metadata: false })).rejects.toMatchObject({
    name: 'SourceProblem',
    message: '. has folders deeper than 20',
  })
  expect(await files.list('in', { recursive: true, metadata: false })).toHaveLength(1)
  expect(await files.list(deepest, { recursive: false, metadata: true })).toHaveLength(2)
})
