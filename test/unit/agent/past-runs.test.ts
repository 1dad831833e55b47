import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createLog } from '../../../runner-agent/src/log.js'
import { folderNameOf } from '../../../runner-agent/src/spool/job-folder.js'
import { openPastRuns } from '../../../runner-agent/src/spool/past-runs.js'

const DAY_MS = 86_400_000
const YEAR = 365
const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
const run = { jobId: 1, runId: 'a'.repeat(32) }

/** A run is remembered for 90 days after it is over. */
describe('a run that is over', () => {
  let folder: string
  let time: { wall: number; steady: number }
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-past-'))
    time = { wall: Date.now(), steady: 0 }
    onTestFinished(() => rmSync(folder, { recursive: true }))
    await agent().note({ ...run, runId: 'c'.repeat(32) }, null)
  })

  const agent = () => openPastRuns(join(folder, 'past'), { wall: () => time.wall, steady: () => time.steady }, log)

  /** An agent works for so many days, and sweeps on each of them. */
  async function work(days: number): Promise<void> {
    const one = agent()
    await one.sweep()
    for (let day = 0; day < days; day += 1) {
      time = { wall: time.wall + DAY_MS, steady: time.steady + DAY_MS }
      await one.sweep()
    }
    await one.close()
  }

  const setClock = (days: number) => void (time.wall += days * DAY_MS)

  /** The name of the run appears at the time of the clock. */
  async function end(): Promise<void> {
    await agent().note(run, null)
    const seconds = time.wall / 1000
    utimesSync(join(folder, 'past', folderNameOf(run)), seconds, seconds)
  }

  test('is remembered for weeks, also by the next agent, and not for ever', async () => {
    await end()
    await work(60)
    expect(agent().has(run)).toBe(true)
    await work(32)
    expect(agent().has(run)).toBe(false)
    expect(agent().has({ ...run, runId: 'b'.repeat(32) })).toBe(false)
  })

  test('is not forgotten because a clock is a year ahead, or because the host was off for a year', async () => {
    await work(95)
    await end()
    setClock(YEAR)
    await work(80)
    expect(agent().has(run)).toBe(true)
    await work(20)
    expect(agent().has(run)).toBe(false)
  })

  test('under a clock that was years behind is not forgotten when the clock is right again', async () => {
    await work(95)
    setClock(-20 * YEAR)
    await end()
    await work(1)
    setClock(20 * YEAR)
    await work(80)
    expect(agent().has(run)).toBe(true)
    await work(20)
    expect(agent().has(run)).toBe(false)
  })

  test('is remembered when what was stored about the clock is damaged', async () => {
    await end()
    await work(60)
    writeFileSync(join(folder, 'past-days.json'), '{"work": 1')
    await work(80)
    expect(agent().has(run)).toBe(true)
    await work(20)
    expect(agent().has(run)).toBe(false)
  })
})
