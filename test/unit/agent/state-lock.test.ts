import fsp from 'node:fs/promises'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import { acquireStateLock, type StateLock } from '../../../runner-agent/src/spool/state-lock.js'
import { openFilesBelow } from '../../agent/open-files.js'
import { holdClock } from '../../agent/held-clock.js'

const KERNEL = { python: 'python3', script: ANSIBLE_PARTS.locks }
const SELF = identifyProcess(process.pid)
/** A process that is gone for sure: this boot never had it. */
const GONE = { ...SELF, boot_id: 'another boot', host: 'here' }
let state: string

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-state-'))
  mkdirSync(join(state, 'generations'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
})

const holderPath = (generation: number): string => join(state, 'generations', String(generation))
const holder = (generation: number, content: object): void => {
  const whole = { host: 'a-host', instance: 'd'.repeat(32), ...content }
  writeFileSync(holderPath(generation), JSON.stringify(whole))
}

async function acquire(): Promise<StateLock> {
  const lock = await acquireStateLock(state, KERNEL)
  onTestFinished(() => lock.close())
  return lock
}

/** The disk takes no writes, and says so with this code, until the returned function is called. */
function unwritable(code: string): () => void {
  const opening = vi
    .spyOn(fsp, 'open')
    .mockImplementation(() => Promise.reject(Object.assign(new Error(code), { code })))
  syncBuiltinESMExports()
  const end = (): void => {
    opening.mockRestore()
    syncBuiltinESMExports()
  }
  onTestFinished(end)
  return end
}

describe('the number of a start', () => {
  test('follows the highest one, however many digits it has, and other names do not count', async () => {
    for (const generation of [9, 10, 2]) holder(generation, GONE)
    for (const name of ['011', 'x12', '13.tmp', '0']) writeFileSync(join(state, 'generations', name), '')
    const lock = await acquire()
    expect(lock.generation).toBe(11)
    expect(lock.instance).toMatch(/^[0-9a-f]{32}$/)
    expect(readdirSync(join(state, 'generations')).sort()).toEqual(['0', '011', '11', '13.tmp', 'x12'])
    expect(JSON.parse(readFileSync(holderPath(11), 'utf8'))).toMatchObject({ ...SELF, instance: lock.instance })
    await lock.keep()
  })

  test('is another instance each time', async () => {
    const first = await acquire()
    first.close()
    holder(1, GONE)
    expect((await acquire()).instance).not.toBe(first.instance)
  })

  test('is not taken from an agent that runs, and the kernel has its lock back', async () => {
    holder(3, { ...SELF })
    await expect(acquireStateLock(state, KERNEL)).rejects.toThrow(
      `another agent (pid ${process.pid}) works on the state folder ${state}; stop it or give this one another folder`,
    )
    expect(openFilesBelow(state)).toEqual([])
    expect(readdirSync(join(state, 'generations'))).toEqual(['3'])
  })

  test('is taken when the one before cannot be seen from here: the kernel knows better', async () => {
    holder(3, { ...SELF, pid_namespace: 'pid:[1]' })
    expect((await acquire()).generation).toBe(4)
  })
})

test.each<[string, object | null, string]>([
  ['nothing readable', null, 'another agent works on'],
  [
    'a process of another container',
    { ...SELF, pid: 7, pid_namespace: 'pid:[1]', host: 'box' },
    'another agent (pid 7 in another container or PID namespace, host box) works on',
  ],
  ['a process that runs', { ...SELF }, `another agent (pid ${process.pid}) works on`],
])('a folder whose lock is held, with %s in its file, is in use', async (_, content, words) => {
  await acquire()
  if (content === null) rmSync(holderPath(1))
  else holder(1, content)
  await expect(acquireStateLock(state, KERNEL)).rejects.toThrow(words)
})

test('an agent that was just ended may need a moment to lose its lock', async () => {
  // The five seconds of that moment do not pass.
  holdClock({ performance: true })
  const script = join(state, 'kernel.py')
  const looks = join(state, 'looks')
  writeFileSync(
    script,
    `import json, os\nopen(${JSON.stringify(looks)}, "a").write(".")\n` +
      `print(json.dumps(["held" if os.path.getsize(${JSON.stringify(looks)}) < 3 else "taken"]))\n`,
  )
  holder(1, GONE)
  const lock = await acquireStateLock(state, { python: 'python3', script })
  lock.close()
  expect([lock.generation, readFileSync(looks, 'utf8')]).toEqual([2, '...'])
  // Nobody waits for one that cannot be seen, or for one that runs.
  rmSync(looks)
  holder(2, { ...SELF, pid_namespace: 'pid:[1]' })
  await expect(acquireStateLock(state, { python: 'python3', script })).rejects.toThrow('in another container')
  expect(readFileSync(looks, 'utf8')).toBe('.')
})

describe('on a disk that takes no writes', () => {
  test.each(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM'])(
    'and says %s, an agent goes on in place of the one before',
    async (code) => {
      holder(4, { ...GONE, instance: 'c'.repeat(32) })
      const writable = unwritable(code)
      const lock = await acquire()
      expect(lock).toMatchObject({ generation: 4, instance: 'c'.repeat(32) })
      await expect(lock.keep()).rejects.toMatchObject({ code })
      writable()
      await lock.keep()
      expect(JSON.parse(readFileSync(holderPath(4), 'utf8'))).toMatchObject({ ...SELF, instance: 'c'.repeat(32) })
    },
  )

  test('no agent begins where none was before, and none after another error', async () => {
    const writable = unwritable('EROFS')
    await expect(acquireStateLock(state, KERNEL)).rejects.toMatchObject({ code: 'EROFS' })
    writable()
    holder(4, GONE)
    unwritable('EMFILE')
    await expect(acquireStateLock(state, KERNEL)).rejects.toMatchObject({ code: 'EMFILE' })
    expect(openFilesBelow(state)).toEqual([])
  })
})
