import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { ANSIBLE_PARTS } from '../../../runner-agent/src/package-info.js'
import { createJobFolder, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { createSupervisorWatch, type SupervisorWatch } from '../../../runner-agent/src/spool/supervisor-watch.js'
import { waitUntil } from '../../agent/waiting.js'

/** Holds a lock on a file as a supervisor does, says so, and waits for its end. */
const HOLD = `
import fcntl, signal, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
signal.pause()
`

function createWatch(): SupervisorWatch {
  const program = { python: 'python3', script: ANSIBLE_PARTS.locks }
  const watch = createSupervisorWatch({ program, log: pino({ level: 'silent' }) })
  onTestFinished(() => {
    watch.close()
  })
  return watch
}

/** The folder of a job whose mark of the start was torn while it was written. */
function tornJob(): JobFolder {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-supervisors-'))
  onTestFinished(() => {
    rmSync(parent, { recursive: true })
  })
  const key = { jobId: 1, runId: 'a'.repeat(32) }
  const folder = createJobFolder(join(parent, `${key.jobId}-${key.runId}`), key)
  mkdirSync(folder.path)
  writeFileSync(folder.file('started.json'), '{"pid":')
  return folder
}

test('a supervisor that nobody can see is gone when nobody holds its lock, and not before the kernel has said so', async () => {
  const [watch, folder] = [createWatch(), tornJob()]
  expect(watch.lookAtTorn(folder)).toBe('unknown')
  await waitUntil('the kernel has answered', () => watch.lookAtTorn(folder) !== 'unknown')
  expect(watch.lookAtTorn(folder)).toBe('gone')
})

test('a supervisor that nobody can see runs as long as its lock is held', async () => {
  const [watch, folder] = [createWatch(), tornJob()]
  const holder = spawn('python3', ['-c', HOLD, folder.file('started.json')], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  watch.lookAtTorn(folder)
  await waitUntil('the kernel has answered', () => watch.lookAtTorn(folder) !== 'unknown')
  expect(watch.lookAtTorn(folder)).toBe('runs')
})
