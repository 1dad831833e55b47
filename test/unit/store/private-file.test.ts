import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { keepFilePrivate } from '../../../control-plane/src/store/sqlite/private-file.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-private-'))
  return () => {
    rmSync(folder, { recursive: true })
  }
})

const modeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.mode.toString(8).slice(-3)
const noWarning = (text: string): void => {
  throw new Error(text)
}

describe('a database file', () => {
  test('is made for its owner only, whatever the umask allows', async () => {
    const path = join(folder, 'new.db')
    const before = process.umask(0)
    try {
      await keepFilePrivate(path, noWarning)
    } finally {
      process.umask(before)
    }
    expect(modeOf(path)).toBe('600')
    expect(['-wal', '-shm', '-journal'].map((end) => modeOf(path + end))).toEqual([undefined, undefined, undefined])
  })

  test.each(['', '-wal', '-shm', '-journal'])(
    'that others may read is taken from them: the file with the end "%s"',
    async (end) => {
      const path = join(folder, 'old.db')
      writeFileSync(path, '', { mode: 0o600 })
      writeFileSync(path + end, 'content')
      chmodSync(path + end, 0o644)
      await keepFilePrivate(path, noWarning)
      expect([modeOf(path), modeOf(path + end)]).toEqual(['600', '600'])
    },
  )

  test.each([0o640, 0o604, 0o610, 0o601])('with one right for others is taken from them: %i', async (mode) => {
    const path = join(folder, 'old.db')
    writeFileSync(path, '')
    chmodSync(path, mode)
    await keepFilePrivate(path, noWarning)
    expect(modeOf(path)).toBe('600')
  })

  test('that only its owner may read keeps its mode', async () => {
    const path = join(folder, 'old.db')
    writeFileSync(path, '')
    chmodSync(path, 0o400)
    await keepFilePrivate(path, noWarning)
    expect(modeOf(path)).toBe('400')
  })

  test('that is a folder keeps its mode', async () => {
    const path = join(folder, 'folder')
    mkdirSync(path)
    chmodSync(path, 0o755)
    await keepFilePrivate(path, noWarning)
    expect(modeOf(path)).toBe('755')
  })

  test('whose mode nobody may change is warned of', async () => {
    const warnings: string[] = []
    // Linux lets nobody change the modes of these files.
    await keepFilePrivate('/proc/self/status', (text) => warnings.push(text))
    expect(warnings).toEqual([
      expect.stringMatching(/^others may read \/proc\/self\/status, and its mode cannot be changed: EPERM/),
    ])
  })
})
