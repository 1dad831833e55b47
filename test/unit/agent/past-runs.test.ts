import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { openPastRuns } from '../../../runner-agent/src/spool/past-runs.js'

const DAY_MS = 86_400_000

test('a run that is over is remembered for weeks, also by the next agent, and not for ever', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-past-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  const after = (days: number) => openPastRuns(folder, () => Date.now() + days * DAY_MS, log)
  const run = { jobId: 1, runId: 'a'.repeat(32) }
  await after(0).note(run, null)
  const known = async (days: number) => {
    await after(days).sweep()
    return after(days).has(run)
  }
  expect([await known(0), await known(60), await known(1000)]).toEqual([true, true, false])
  expect(after(0).has({ ...run, runId: 'b'.repeat(32) })).toBe(false)
})
