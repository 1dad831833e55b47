import fsp from 'node:fs/promises'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type DiskWatch, watchDisk } from '../../../runner-agent/src/spool/disk-watch.js'
import { waitUntil } from '../../agent/waiting.js'
import { type HeldClock, holdClock } from '../../agent/held-clock.js'

/** A watch whose timers only the test moves, over a folder on which calls of the system can be made to fail. */
let state: string
let prepared: number
let prepareFails: string | null
let clock: HeldClock
let lines: string[]
const ROOM = { blocks: 100, bavail: 10, files: 100, ffree: 10 }

beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), 'holdfast-disk-'))
  prepared = 0
  prepareFails = null
  lines = []
  clock = holdClock({ timers: true })
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
})

const systemError = (code: string): Error => Object.assign(new Error(`${code}: said by the system`), { code })

async function watching(): Promise<DiskWatch> {
  const watch = await watchDisk({
    statePath: state,
    prepare: () => {
      prepared += 1
      return prepareFails === null ? Promise.resolve() : Promise.reject(systemError(prepareFails))
    },
    log: pino({}, { write: (line) => void lines.push(line) }),
  })
  onTestFinished(() => watch.close())
  return watch
}

/** From now on, until the returned function is called. */
function mocked(
  name: 'writeFile' | 'access' | 'statfs',
  answer: () => unknown,
): { count: () => number; end: () => void } {
  const spy = vi.spyOn(fsp, name).mockImplementation((() => Promise.resolve().then(answer)) as never)
  syncBuiltinESMExports()
  const end = (): void => {
    spy.mockRestore()
    syncBuiltinESMExports()
  }
  onTestFinished(end)
  return { count: () => spy.mock.calls.length, end }
}

const failing = (name: 'writeFile' | 'access', code: string) =>
  mocked(name, () => {
    throw systemError(code)
  })

/** Moves the clock to the next look, and waits until that is over. */
async function nextLook(milliseconds: number): Promise<void> {
  expect(clock.count()).toBe(1)
  clock.move(milliseconds - 1)
  expect(clock.count()).toBe(1)
  clock.move(1)
  await waitUntil('the look is over', () => clock.count() === 1)
}

const WELL_MS = 5_000
const AGAIN_MS = 1_000

test('a disk that takes bytes is well, and what must be there is prepared once', async () => {
  const watch = await watching()
  await nextLook(WELL_MS)
  await nextLook(WELL_MS)
  expect([watch.problem, prepared]).toEqual([null, 1])
  expect(readdirSync(state)).toEqual([])
})

test.each([
  ['ENOSPC', 'is full'],
  ['EDQUOT', 'is full'],
  ['EROFS', 'is read-only'],
  ['EIO', 'cannot be written (EIO: said by the system)'],
])('a disk that says %s at the start %s, until it can be written again', async (code, words) => {
  const writing = failing('writeFile', code)
  const watch = await watching()
  expect(watch.problem).toBe(`the disk of the state folder ${state} ${words}`)
  expect(prepared).toBe(0)
  await nextLook(AGAIN_MS)
  expect(watch.problem).not.toBeNull()
  writing.end()
  await nextLook(AGAIN_MS)
  expect([watch.problem, prepared]).toEqual([null, 1])
  await nextLook(WELL_MS)
})

test('a trouble is told once, and again when it is another one or over', async () => {
  const full = failing('writeFile', 'ENOSPC')
  await watching()
  await nextLook(AGAIN_MS)
  expect(lines).toHaveLength(1)
  full.end()
  const readOnly = failing('writeFile', 'EROFS')
  await nextLook(AGAIN_MS)
  await nextLook(AGAIN_MS)
  expect(lines).toHaveLength(2)
  readOnly.end()
  await nextLook(AGAIN_MS)
  await nextLook(WELL_MS)
  expect(lines).toHaveLength(3)
  expect(lines[2]).toContain('can be written again')
})

test('a disk is not well before everything is prepared, and that is tried again', async () => {
  prepareFails = 'ENOSPC'
  const watch = await watching()
  expect(watch.problem).toContain('is full')
  prepareFails = null
  await nextLook(AGAIN_MS)
  expect([watch.problem, prepared]).toEqual([null, 2])
})

describe('a disk that was well', () => {
  test.each([
    ['cannot be written any more', 'EROFS', true],
    ['has no free place for this process', 'EMFILE', false],
    ['has no free place on its host', 'ENFILE', false],
    ['has no memory', 'ENOMEM', false],
  ])('and %s (%s) has a problem: %s', async (_, code, hasProblem) => {
    const watch = await watching()
    const accessing = failing('access', code)
    await nextLook(WELL_MS)
    expect(watch.problem !== null).toBe(hasProblem)
    accessing.end()
    await nextLook(hasProblem ? AGAIN_MS : WELL_MS)
    expect([watch.problem, prepared]).toEqual([null, hasProblem ? 2 : 1])
  })

  test.each([
    ['has room', ROOM, false],
    ['has no free block', { ...ROOM, bavail: 0 }, true],
    ['has no free file', { ...ROOM, ffree: 0 }, true],
    ['has one free block and file', { ...ROOM, bavail: 1, ffree: 1 }, false],
    ['counts neither', { blocks: 0, bavail: 0, files: 0, ffree: 0 }, false],
  ])('and %s is tried with bytes only when that is doubtful', async (_, figures, isTried) => {
    const watch = await watching()
    mocked('statfs', () => figures)
    const writing = failing('writeFile', 'ENOSPC')
    await nextLook(WELL_MS)
    expect(writing.count()).toBe(isTried ? 1 : 0)
    expect(watch.problem !== null).toBe(isTried)
  })
})

test('an error of the host at the start counts: nothing was prepared', async () => {
  const writing = failing('writeFile', 'EMFILE')
  const watch = await watching()
  expect(watch.problem).toContain('EMFILE')
  writing.end()
  await nextLook(AGAIN_MS)
  expect([watch.problem, prepared]).toEqual([null, 1])
})

test('a closed watch looks no more', async () => {
  const watch = await watching()
  await watch.close()
  expect(clock.count()).toBe(0)
  const other = await watching()
  clock.move(WELL_MS)
  await other.close()
  expect(clock.count()).toBe(0)
})
