import fs, { chmodSync, constants, mkdirSync, mkdtempSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { lookAtLocks, takeKernelLock } from '../../../runner-agent/src/host/kernel-lock.js'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import { openFilesBelow } from '../../agent/open-files.js'

const KERNEL = { python: 'python3', script: ANSIBLE_PARTS.locks }
const open = fs.openSync
let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-locks-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
})

/** A kernel that answers with these words, or a program that does something else. */
function answering(text: string) {
  const script = join(state, 'answer.py')
  writeFileSync(script, text)
  return { python: 'python3', script }
}

const saying = (...words: string[]) => answering(`import json\nprint(json.dumps(${JSON.stringify(words)}))\n`)
const openFiles = (): string[] => openFilesBelow(state)

describe('the lock on a state folder', () => {
  test('keeps another one out until it is given up', async () => {
    const lock = await takeKernelLock(state, KERNEL)
    if (lock === 'held') throw new Error('nobody has it')
    expect(lock.doubt).toBeNull()
    expect(statSync(join(state, 'lock')).mode & 0o777).toBe(0o600)
    expect(openFiles()).toEqual([state, join(state, 'lock')])
    expect(await takeKernelLock(state, KERNEL)).toBe('held')
    expect(openFiles()).toHaveLength(2)
    lock.close()
    lock.close()
    expect(openFiles()).toEqual([])
    const next = await takeKernelLock(state, KERNEL)
    expect(next).not.toBe('held')
    if (next !== 'held') next.close()
  })

  test.each([
    [['taken', 'held'], 'held'],
    [['held'], 'held'],
  ])('is not had when the kernel says %j', async (words, expected) => {
    expect(await takeKernelLock(state, saying(...words))).toBe(expected)
    expect(openFiles()).toEqual([])
  })

  test.each(['ENOLCK', 'ENOSYS', 'EOPNOTSUPP', 'ENOTSUP', 'EINVAL', 'EBADF'])(
    'is doubtful on a file system that has none and says %s',
    async (word) => {
      const none = await takeKernelLock(state, saying(word, word))
      expect(none).toMatchObject({ doubt: expect.stringContaining('in another container is not noticed') as string })
      const folderOnly = await takeKernelLock(state, saying('taken', word))
      expect(folderOnly).toMatchObject({ doubt: expect.stringContaining('on another host is not noticed') as string })
      for (const lock of [none, folderOnly]) if (lock !== 'held') lock.close()
      expect(openFiles()).toEqual([])
    },
  )

  test.each([
    [['taken', 'taken']],
    // The lock of the file counts also between hosts.
    [['ENOLCK', 'taken']],
    // A disk that took no file: within this host the lock of the folder is enough.
    [['taken']],
  ])('is without doubt when the kernel says %j', async (words) => {
    const lock = await takeKernelLock(state, saying(...words))
    expect(lock).toMatchObject({ doubt: null })
    if (lock !== 'held') lock.close()
  })

  test('cannot be had when the kernel says something else, or nothing', async () => {
    await expect(takeKernelLock(state, saying('taken', 'EIO'))).rejects.toThrow(`${state} cannot be locked: EIO`)
    const failing = answering('import sys\nsys.exit("no memory")\n')
    await expect(takeKernelLock(state, failing)).rejects.toThrow('the kernel could not be asked for locks: no memory')
    const silent = answering('import sys\nsys.exit(3)\n')
    await expect(takeKernelLock(state, silent)).rejects.toThrow('no answer (3)')
    await expect(takeKernelLock(state, { ...silent, python: '/nowhere/python' })).rejects.toMatchObject({
      code: 'ENOENT',
    })
    await expect(takeKernelLock(join(state, 'nowhere'), KERNEL)).rejects.toMatchObject({ code: 'ENOENT' })
    expect(openFiles()).toEqual([])
  })

  test('is not had of a folder in place of the file, and is that of the folder alone where no file can be made', async () => {
    mkdirSync(join(state, 'lock'))
    await expect(takeKernelLock(state, KERNEL)).rejects.toMatchObject({ code: 'EISDIR' })
    expect(openFiles()).toEqual([])
    rmdirSync(join(state, 'lock'))
    const opening = vi.spyOn(fs, 'openSync').mockImplementation((path, flags, mode) => {
      if (flags === (constants.O_RDWR | constants.O_CREAT)) throw Object.assign(new Error('EROFS'), { code: 'EROFS' })
      return open(path, flags, mode)
    })
    syncBuiltinESMExports()
    onTestFinished(() => {
      opening.mockRestore()
      syncBuiltinESMExports()
    })
    const lock = await takeKernelLock(state, KERNEL)
    expect(lock).toMatchObject({ doubt: null })
    expect(openFiles()).toEqual([state])
    if (lock !== 'held') lock.close()
    writeFileSync(join(state, 'lock'), 'of an agent before')
    const both = await takeKernelLock(state, KERNEL)
    expect(openFiles()).toEqual([state, join(state, 'lock')])
    if (both !== 'held') both.close()
  })

  test('is asked for by a program without the variables of the agent, in no folder of it', async () => {
    const words =
      '[str(len(os.environ.keys() - {"LC_CTYPE"})), os.getcwd(), str(sys.flags.isolated), str(sys.flags.no_site)]'
    const asking = answering(`import json, os, sys\nprint(json.dumps(${words}))\n`)
    expect(await lookAtLocks(asking, ['a', 'b', 'c', 'd'])).toEqual(['0', '/', '1', '1'])
  })
})

describe('locks of files', () => {
  test('are free, or cannot be asked about', async () => {
    const path = join(state, 'started.json')
    writeFileSync(path, '')
    chmodSync(path, 0o600)
    expect(await lookAtLocks(KERNEL, [path, join(state, 'nowhere')])).toEqual(['free', 'ENOENT'])
    expect(await lookAtLocks(KERNEL, [])).toEqual([])
  })

  test('are not taken from an answer about other files', async () => {
    await expect(lookAtLocks(saying('free'), ['a', 'b'])).rejects.toThrow('answered for other files')
    await expect(lookAtLocks(saying('free', 'free'), ['a'])).rejects.toThrow('answered for other files')
  })
})
