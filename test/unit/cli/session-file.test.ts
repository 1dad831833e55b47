import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sessionFile } from '../../../control-plane/src/cli/client/session-file.js'

const SESSION = { server: 'http://a', username: 'ann', token: 't', refreshtoken: 'r' }

function newHome(): string {
  const home = mkdtempSync(join(tmpdir(), 'holdfast-session-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  return home
}

const newFile = () => sessionFile({ XDG_CONFIG_HOME: newHome() })

describe('the saved session', () => {
  test('is read as it was written, for its owner only, and nothing is left beside it', async () => {
    const file = newFile()
    expect(await file.read()).toBeNull()
    await file.write(SESSION)
    expect(await file.read()).toEqual(SESSION)
    expect(statSync(file.path).mode & 0o777).toBe(0o600)
    expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700)
    await file.write({ ...SESSION, token: 'u' })
    expect(JSON.parse(readFileSync(file.path, 'utf8'))).toEqual({ ...SESSION, token: 'u' })
    expect(readdirSync(dirname(file.path))).toEqual(['session.json'])
    await file.remove()
    await file.remove()
    expect(await file.read()).toBeNull()
  })

  test('that is damaged is none, and one that cannot be read is an error', async () => {
    const file = newFile()
    await file.write(SESSION)
    for (const text of ['{', '{"server": "http://a"}', 'null']) {
      writeFileSync(file.path, text)
      expect(await file.read()).toBeNull()
    }
    await file.remove()
    mkdirSync(file.path)
    await expect(file.read()).rejects.toThrow(`Cannot read ${file.path}: `)
  })

  test('is below an absolute XDG_CONFIG_HOME only', () => {
    const usual = sessionFile({}).path
    expect(usual.endsWith('/.config/holdfast/session.json')).toBe(true)
    expect(sessionFile({ XDG_CONFIG_HOME: 'here' }).path).toBe(usual)
    expect(sessionFile({ XDG_CONFIG_HOME: '' }).path).toBe(usual)
    expect(sessionFile({ XDG_CONFIG_HOME: '/x' }).path).toBe('/x/holdfast/session.json')
  })

  test('is changed by one at a time, and the next one comes also after an error', async () => {
    const file = newFile()
    const order: string[] = []
    const first = file.exclusively(async () => {
      order.push('first')
      await new Promise((resolve) => setImmediate(resolve))
      order.push('first ends')
      throw new Error('no')
    })
    await expect(first).rejects.toThrow('no')
    expect(await file.exclusively(() => Promise.resolve('second'))).toBe('second')
    expect(order).toEqual(['first', 'first ends'])
  })
})

test('a file of this session is not open any more when it is written', async () => {
  const file = newFile()
  await file.write(SESSION)
  const descriptors = readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).startsWith(dirname(file.path))
    } catch {
      return false
    }
  })
  expect(descriptors).toEqual([])
})

test('a session is on the disk before its file has its name, and then the name is', async () => {
  const file = newFile()
  const any = await open(import.meta.filename, 'r')
  const handles = Object.getPrototypeOf(any) as FileHandle
  await any.close()
  const seen: boolean[] = []
  const sync = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    await this.datasync()
    seen.push((await this.stat()).size > 0, existsSync(file.path))
  })
  onTestFinished(() => sync.mockRestore())
  await file.write(SESSION)
  expect([seen, existsSync(file.path)]).toEqual([[true, false, true, true], true])
})

test('the first write makes the folders that are missing', async () => {
  const file = sessionFile({ XDG_CONFIG_HOME: join(newHome(), 'not', 'there') })
  await file.write(SESSION)
  expect(await file.read()).toEqual(SESSION)
})

describe('the lock of the session', () => {
  /** A lock that another process took at a time, in milliseconds. */
  function heldSince(time: number) {
    const file = newFile()
    const lock = `${file.path}.locked`
    const holder = join(lock, 'somebody')
    mkdirSync(lock, { recursive: true })
    writeFileSync(holder, '')
    utimesSync(holder, time / 1000, time / 1000)
    return { file, lock, holder }
  }

  test('makes the folders that are missing, for its owner only', async () => {
    const file = sessionFile({ XDG_CONFIG_HOME: join(newHome(), 'not', 'there') })
    expect(await file.exclusively(() => Promise.resolve('done'))).toBe('done')
    expect(statSync(dirname(file.path)).mode & 0o777).toBe(0o700)
  })

  test('is had by one of many that want it at once, and nothing but it is left', async () => {
    const file = newFile()
    let inside = 0
    const most: number[] = []
    const action = async () => {
      inside += 1
      most.push(inside)
      // Long enough for the others to look, and to try it.
      for (let turn = 0; turn < 50; turn += 1) await stat(file.path).catch(() => null)
      inside -= 1
    }
    await Promise.all(Array.from({ length: 8 }, () => file.exclusively(action)))
    expect(most).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(readdirSync(dirname(file.path))).toEqual(['session.json.locked'])
    expect(readdirSync(`${file.path}.locked`)).toEqual([])
  })

  test('is waited for until it is 90 seconds old, and then taken from who left it behind', async () => {
    const since = 1_700_000_000_000
    const { file, holder } = heldSince(since)
    let late = 90_000
    const changes = new Set<number>()
    const looks: number[] = []
    const now = vi.spyOn(Date, 'now').mockImplementation(() => {
      looks.push(performance.now())
      changes.add(statSync(dirname(file.path)).mtimeMs)
      return since + late
    })
    onTestFinished(() => now.mockRestore())
    let isDone = false
    const done = file.exclusively(async () => {
      isDone = true
    })
    await vi.waitUntil(() => now.mock.calls.length >= 3, { timeout: 10_000, interval: 5 })
    expect([isDone, existsSync(holder)]).toEqual([false, true])
    // Who waits only looks, 25 milliseconds apart, and makes nothing in the folder.
    expect(changes.size).toBe(1)
    expect((looks[2] ?? 0) - (looks[0] ?? 0)).toBeGreaterThanOrEqual(48)
    late += 1
    await done
    expect([isDone, existsSync(holder)]).toEqual([true, false])
  })

  test('is not taken from who has it, however quick the next one is', async () => {
    const file = newFile()
    const now = vi.spyOn(Date, 'now')
    onTestFinished(() => now.mockRestore())
    let isSecond = false
    let second = Promise.resolve()
    await file.exclusively(async () => {
      now.mockClear()
      second = file.exclusively(async () => {
        isSecond = true
      })
      await vi.waitUntil(() => isSecond || now.mock.calls.length >= 3, { timeout: 10_000, interval: 5 })
      expect(isSecond).toBe(false)
    })
    await second
    expect(isSecond).toBe(true)
  })

  test('may be given back by somebody else while it is looked at', async () => {
    const since = 1_700_000_000_000
    const { file, holder } = heldSince(since)
    const now = vi.spyOn(Date, 'now').mockImplementation(() => {
      rmSync(holder, { force: true })
      return since + 90_001
    })
    onTestFinished(() => now.mockRestore())
    expect(await file.exclusively(() => Promise.resolve('done'))).toBe('done')
  })

  test('is free when its holder is gone before its age is read', async () => {
    const { file, holder } = heldSince(Date.now())
    unlinkSync(holder)
    symlinkSync('/nowhere/at/all', holder)
    expect(await file.exclusively(() => Promise.resolve('done'))).toBe('done')
  })

  test('was taken away meanwhile: what was done is done', async () => {
    const file = newFile()
    const lock = `${file.path}.locked`
    const done = file.exclusively(async () => {
      for (const name of readdirSync(lock)) unlinkSync(join(lock, name))
      return 'done'
    })
    expect(await done).toBe('done')
  })

  test('cannot be had where something else is in its place, and that is an error', async () => {
    const file = newFile()
    await file.write(SESSION)
    const lock = `${file.path}.locked`
    const action = vi.fn(() => Promise.resolve())
    writeFileSync(lock, '')
    await expect(file.exclusively(action)).rejects.toMatchObject({ code: 'ENOTDIR', syscall: 'scandir' })
    rmSync(lock)
    symlinkSync('/nowhere/at/all', lock)
    await expect(file.exclusively(action)).rejects.toMatchObject({ code: 'ENOTDIR', syscall: 'rename' })
    expect(action).not.toHaveBeenCalled()
    expect(readdirSync(dirname(file.path)).toSorted()).toEqual(['session.json', 'session.json.locked'])
  })
})
