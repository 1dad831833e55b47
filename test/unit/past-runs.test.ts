import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPastRuns } from '../../runner-agent/src/spool/past-runs.js'

const DAY_MS = 24 * 60 * 60 * 1000
const key = (jobId: number) => ({ jobId, runId: 'a'.repeat(32) })

function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-past-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return join(folder, 'past')
}

test('a run is remembered by the next agent, for ninety days', async () => {
  const folder = emptyFolder()
  const first = await openPastRuns(folder, () => Date.now())
  expect(first.has(key(1))).toBe(false)
  await first.note(key(1))
  await first.note(key(1))
  expect(first.has(key(1))).toBe(true)
  expect(first.has({ jobId: 1, runId: 'b'.repeat(32) })).toBe(false)
  const later = await openPastRuns(folder, () => Date.now() + 89 * DAY_MS)
  expect(later.has(key(1))).toBe(true)
  const muchLater = await openPastRuns(folder, () => Date.now() + 91 * DAY_MS)
  expect(muchLater.has(key(1))).toBe(false)
})

test('what is not the name of a run is left alone', async () => {
  const folder = emptyFolder()
  await openPastRuns(folder, () => Date.now())
  writeFileSync(join(folder, 'notes.txt'), 'somebody')
  await openPastRuns(folder, () => Date.now() + 365 * DAY_MS)
  expect(readdirSync(folder)).toEqual(['notes.txt'])
})
