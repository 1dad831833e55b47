import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { createPrivateFile, keptSecret } from '../../../control-plane/src/secrets/secrets.js'
import { syncedFiles } from '../../support/synced-files.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-kept-secrets-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
})

test('a secret is what its file says, without the blanks around it', async () => {
  writeFileSync(join(folder, 'given'), '  mine \n')
  expect(await keptSecret(folder, 'given')).toBe('mine')
  expect(readFileSync(join(folder, 'given'), 'utf8')).toBe('  mine \n')
})

test('a secret that is made is on the disk, and then its name, in a folder that is private', async () => {
  const synced = await syncedFiles()
  const made = await keptSecret(join(folder, 'data'), 'key')
  expect(readFileSync(join(folder, 'data/key'), 'utf8')).toBe(`${made}\n`)
  expect(statSync(join(folder, 'data')).mode & 0o777).toBe(0o700)
  expect(synced).toEqual([expect.stringMatching(/\/data\/key\.[0-9a-f]{12}\.tmp$/), join(folder, 'data')])
  expect(readdirSync(join(folder, 'data'))).toEqual(['key'])
})

test('a secret that cannot be read is not replaced', async () => {
  mkdirSync(join(folder, 'key'))
  await expect(keptSecret(folder, 'key')).rejects.toThrow('EISDIR')
  writeFileSync(join(folder, 'empty'), ' \n')
  const words = `${join(folder, 'empty')} is empty; remove it to have a new one made`
  await expect(keptSecret(folder, 'empty')).rejects.toThrow(words)
  expect(readdirSync(folder).sort()).toEqual(['empty', 'key'])
})

test('of many who make a private file at the same time one does, and nothing else is left', async () => {
  const path = join(folder, 'file')
  const made = await Promise.all(Array.from({ length: 10 }, (_, number) => createPrivateFile(path, String(number))))
  expect(made.filter(Boolean)).toHaveLength(1)
  expect(readFileSync(path, 'utf8')).toBe(String(made.indexOf(true)))
  expect(readdirSync(folder)).toEqual(['file'])
})
