import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { openPastRuns, type PastRuns } from '../../../runner-agent/src/spool/past-runs.js'
import { waitUntil } from '../../agent/waiting.js'
import { type HeldClock, holdClock } from '../../agent/held-clock.js'

const DAY_MS = 24 * 60 * 60 * 1000
const key = (jobId: number) => ({ jobId, runId: 'a'.repeat(32) })

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-past-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'past')
}

function openAt(folder: string, afterMs: number): PastRuns {
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  return openPastRuns(folder, () => Date.now() + afterMs, log)
}

test('a run is remembered by the next agent, for ninety days', async () => {
  const folder = emptyFolder()
  const first = openAt(folder, 0)
  expect(first.has(key(1))).toBe(false)
  await first.note(key(1))
  await first.note(key(1))
  expect(first.has(key(1))).toBe(true)
  expect(first.has({ jobId: 1, runId: 'b'.repeat(32) })).toBe(false)
  const later = openAt(folder, 89 * DAY_MS)
  await later.sweep()
  expect(later.has(key(1))).toBe(true)
  const muchLater = openAt(folder, 91 * DAY_MS)
  await muchLater.sweep()
  expect(muchLater.has(key(1))).toBe(false)
})

test('files with other names stay', async () => {
  const folder = emptyFolder()
  mkdirSync(folder)
  writeFileSync(join(folder, 'notes.txt'), 'somebody')
  await openAt(folder, 365 * DAY_MS).sweep()
  expect(readdirSync(folder)).toEqual(['notes.txt'])
})

test('a start reads no names of the folder, because there may be many thousands', async () => {
  const folder = emptyFolder()
  mkdirSync(folder)
  // Whoever looks at each name fails at this one.
  symlinkSync('nowhere', join(folder, `2-${'a'.repeat(32)}`))
  const runs = openAt(folder, 0)
  await runs.note(key(1))
  expect(runs.has(key(1))).toBe(true)
})

test('a run that cannot be looked up does not count as new', () => {
  const folder = emptyFolder()
  symlinkSync('past', folder)
  expect(() => openAt(folder, 0).has(key(1))).toThrow('ELOOP')
})

test('a run is remembered for ninety days to the millisecond', async () => {
  const folder = emptyFolder()
  await openAt(folder, 0).note(key(1))
  const noted = statSync(join(folder, `1-${'a'.repeat(32)}`)).mtimeMs
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  const at = (time: number): PastRuns => openPastRuns(folder, () => time, log)
  await at(noted + 90 * DAY_MS).sweep()
  expect(readdirSync(folder)).toHaveLength(1)
  await at(noted + 90 * DAY_MS + 1).sweep()
  expect(readdirSync(folder)).toEqual([])
})

test('a run that cannot be noted is not taken for noted', async () => {
  const folder = emptyFolder()
  writeFileSync(folder, 'a file in place of the folder')
  await expect(openAt(folder, 0).note(key(1))).rejects.toMatchObject({ code: 'ENOTDIR' })
})

test('the folder of past runs is of the agent alone', async () => {
  const folder = join(emptyFolder(), 'deep')
  await openAt(folder, 0).note(key(1))
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  expect(statSync(join(folder, `1-${'a'.repeat(32)}`)).mode & 0o777).toBe(0o600)
})

test('a sweep of many names pauses after each hundred, and ends early when the agent closes', async () => {
  const folder = emptyFolder()
  mkdirSync(folder)
  for (let name = 0; name < 250; name += 1) writeFileSync(join(folder, `other-${name}`), '')
  const closing = new AbortController()
  closing.abort(new Error('it closes'))
  await expect(openAt(folder, 0).sweep(closing.signal)).rejects.toThrow()
  for (let name = 99; name < 250; name += 1) rmSync(join(folder, `other-${name}`))
  // There is no pause below a hundred names: nobody looks at the signal.
  await openAt(folder, 0).sweep(closing.signal)
})

describe('sweeps in the background', () => {
  const MINUTE_MS = 60_000
  let clock: HeldClock
  const sweepingAt = async (afterMs: number) => {
    const folder = emptyFolder()
    await openAt(folder, 0).note(key(1))
    clock = holdClock({ timers: true })
    const runs = openAt(folder, afterMs)
    return { runs, folder }
  }
  /** A sweep that has begun works with the real file system. */
  const isEmpty = (folder: string) => waitUntil('all names are removed', () => readdirSync(folder).length === 0)
  const isOver = () => waitUntil('the next sweep is planned', () => clock.count() > 0)

  test('begin ten minutes after the start, and come each day', async () => {
    const { runs, folder } = await sweepingAt(91 * DAY_MS)
    runs.sweepLater()
    clock.move(10 * MINUTE_MS - 1)
    expect(clock.count()).toBe(1)
    expect(readdirSync(folder)).toHaveLength(1)
    clock.move(1)
    await isEmpty(folder)
    await isOver()
    await runs.note(key(2))
    clock.move(DAY_MS - 1)
    expect(readdirSync(folder)).toHaveLength(1)
    clock.move(1)
    await isEmpty(folder)
    await runs.close()
  })

  test('end when the agent closes, and begin no more', async () => {
    const { runs, folder } = await sweepingAt(91 * DAY_MS)
    runs.sweepLater()
    await runs.close()
    expect(clock.count()).toBe(0)
    runs.sweepLater()
    expect(clock.count()).toBe(0)
    expect(readdirSync(folder)).toHaveLength(1)
  })

  test('come also while there is no folder', async () => {
    const { runs, folder } = await sweepingAt(0)
    rmSync(folder, { recursive: true })
    runs.sweepLater()
    clock.move(10 * MINUTE_MS)
    await isOver()
    await runs.close()
    expect(clock.count()).toBe(0)
  })
})
