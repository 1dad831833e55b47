import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { CheckInput } from '../../../control-plane/src/forms/check/context.js'
import { createLaunchChecks } from '../../../control-plane/src/forms/sandbox/launch-checks.js'
import { heldTimers } from '../../api/held-timers.js'

const THREADS = 6

/** A script of a thread that begins a check and never ends it. */
function endlessScript(): URL {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-threads-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  const path = join(folder, 'endless.mjs')
  writeFileSync(
    path,
    `import { parentPort } from 'node:worker_threads'\nparentPort.on('message', () => { for (;;); })\n`,
  )
  return pathToFileURL(path)
}

const threadsOfThisProcess = () => readdirSync('/proc/self/task').length

test('a stop ends busy threads, and refuses running and waiting checks', async () => {
  const before = threadsOfThisProcess()
  const log = { warn: () => undefined }
  const { timers, count } = heldTimers()
  const checks = createLaunchChecks({ log, timers, threads: THREADS, script: endlessScript() })
  const input: CheckInput = {
    fields: [],
    wizard: [],
    subforms: {},
    values: {},
    uploads: {},
    constants: {},
    user: {},
    now: 0,
  }
  const refused = Promise.allSettled(Array.from({ length: THREADS + 2 }, () => checks.check(input, 'ann')))
  await expect.poll(threadsOfThisProcess).toBeGreaterThanOrEqual(before + THREADS)
  const during = threadsOfThisProcess()
  expect(count()).toBe(THREADS)
  await checks.close()
  expect(count()).toBe(0)
  for (const outcome of await refused) expect(outcome).toMatchObject({ reason: { code: 'stopping' } })
  await expect.poll(threadsOfThisProcess).toBeLessThanOrEqual(during - THREADS)
  await expect(checks.check(input, 'ann')).rejects.toMatchObject({ code: 'stopping' })
})
