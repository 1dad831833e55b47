import { execFileSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { JobRun } from '../../runner-agent/src/jobs/job-run.js'
import { askAbort, type StepServices } from '../../runner-agent/src/jobs/steps.js'
import { createLog } from '../../runner-agent/src/log.js'
import { createJobFolder, type JobFolder } from '../../runner-agent/src/spool/job-folder.js'
import { waitUntil } from '../agent/waiting.js'

let parent: string
let folder: JobFolder

beforeEach(() => {
  parent = mkdtempSync(join(tmpdir(), 'holdfast-steps-'))
  folder = jobFolderBelow(parent)
})

afterEach(() => {
  rmSync(parent, { recursive: true })
})

function jobFolderBelow(path: string): JobFolder {
  const key = { jobId: 1, runId: 'a'.repeat(32) }
  const job = createJobFolder(join(path, `${key.jobId}-${key.runId}`), key)
  mkdirSync(job.path)
  return job
}

const services: StepServices = {
  now: () => new Date(),
  bootId: 'this boot',
  playbook: { localFolder: null, environment: {}, callbackFolder: '/none', isolation: { kind: 'none' } },
  supervisor: { python: '/none', script: '/none' },
  openSecrets: () => null,
  releaseUser: () => Promise.resolve([]),
  giveUp: () => Promise.reject(new Error('there is no spool around this folder')),
}

test('a start that failed without a trace is tried again', async () => {
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  let calls = 0
  const now = (): Date => {
    calls += 1
    if (calls === 1) throw new Error('the disk is full just now')
    return new Date()
  }
  const nothing = (): void => undefined
  const events = { ready: nothing, ended: nothing, removed: nothing }
  const run = new JobRun(folder, { ...services, now, log, supervisors: { look: () => 'gone' } }, events)
  run.begin()
  await waitUntil('the job has ended', () => run.state === 'ended')
  expect(folder.end()).toMatchObject({ cause: 'not_started', message: 'the claim of the job is absent' })
  await run.dispose()
})

describe('an abort', () => {
  test('is noted on a full disk, too', async (context) => {
    const disk = join(parent, 'disk')
    mkdirSync(disk)
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', disk], { stdio: 'ignore' })
    } catch {
      context.skip('needs the right to mount a tmpfs')
    }
    try {
      const job = jobFolderBelow(disk)
      expect(() => {
        for (;;) appendFileSync(job.file('output.log'), Buffer.alloc(4096))
      }).toThrow('ENOSPC')
      await askAbort(job, new Date())
      expect(job.abortAsked()).toBe(true)
      expect(statSync(job.file('abort.json')).size).toBe(0)
    } finally {
      execFileSync('umount', ['-l', disk])
    }
  })
})
