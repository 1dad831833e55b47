import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { openPastRuns, type PastRuns } from '../../../runner-agent/src/spool/past-runs.js'

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
