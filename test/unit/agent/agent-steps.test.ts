import { execFileSync, spawn } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { ABORT_TIMEOUTS } from '../../../runner-agent/src/jobs/decide.js'
import { JobRun } from '../../../runner-agent/src/jobs/job-run.js'
import { askAbort, endLost, type StepServices } from '../../../runner-agent/src/jobs/steps.js'
import { createLog } from '../../../runner-agent/src/log.js'
import { markedProcesses } from '../../../runner-agent/src/playbook/process-tree.js'
import { identifyProcess, lookAtProcess, readBootId } from '../../../runner-agent/src/host/processes.js'
import { writeAgentEnd } from '../../../runner-agent/src/spool/agent-end.js'
import { createJobFolder, type JobFolder, type Started } from '../../../runner-agent/src/spool/job-folder.js'
import { waitUntil } from '../../agent/waiting.js'

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

const NO_SOCKETS = { folderOf: () => '/none', remove: () => Promise.resolve() }

const services: StepServices = {
  now: () => new Date(),
  bootId: 'this boot',
  playbook: {
    localFolder: null,
    environment: {},
    passEnvironment: [],
    pythonProblem: null,
    galaxy: null,
    container: null,
    python: '/none',
    callbackFolder: '/none',
    isolation: { kind: 'none' },
    sockets: NO_SOCKETS,
  },
  supervisor: { python: '/none', script: '/none' },
  openSecrets: () => null,
  releaseUser: () => Promise.resolve([]),
  giveUp: () => Promise.reject(new Error('there is no spool around this folder')),
}

test('a failed start that left no mark is tried again', async () => {
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  let calls = 0
  const now = (): Date => {
    calls += 1
    if (calls === 1) throw new Error('the disk is full just now')
    return new Date()
  }
  const nothing = (): void => undefined
  const events = { ready: nothing, ended: nothing, removed: nothing, incomplete: nothing }
  const run = new JobRun(folder, { ...services, now, log, supervisors: SEEN, abortTimeouts: ABORT_TIMEOUTS }, events)
  run.begin()
  await waitUntil('the job has ended', () => run.state === 'ended')
  const end = { cause: 'not_started', message: 'the claim of the job is absent' }
  expect(folder.end()).toMatchObject({ kind: 'present', content: end })
  await run.dispose()
})

test.each([
  [{ exit_code: 4 }, 'exited'],
  [{ signal: 'SIGKILL' }, 'signaled'],
  [{}, 'supervisor_lost'],
])('an aborted job of which something is left does not count as aborted: %j', async (known, cause) => {
  const left = { ...services, releaseUser: () => Promise.resolve(['process 7', 'a message queue']) }
  const end = { cause: 'aborted', message: 'its supervisor is gone', ...known } as const
  expect(await endLost(folder, left, end, true)).toMatchObject({
    cause,
    message: "its supervisor is gone; of the job's user is left: process 7, a message queue",
    ...known,
  })
})

test('an aborted job of which nothing is left, and one that was never started, end as they are known to', async () => {
  const end = { cause: 'aborted', message: null } as const
  expect(await endLost(folder, services, end, true)).toMatchObject(end)
  const other = jobFolderBelow(mkdtempSync(join(parent, 'other-')))
  const left = { ...services, releaseUser: () => Promise.reject(new Error('nothing was started')) }
  expect(await endLost(other, left, end, false)).toMatchObject(end)
})

/** Supervisors of this very host. */
const SEEN = { look: (_: unknown, started: Started) => lookAtProcess(started), lookAtTorn: () => 'unknown' as const }

/** Timers of this process that have not run yet. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length

describe('looking at a job', () => {
  const END = { cause: 'exited', message: null, exit_code: 0 } as const
  let ended: number
  let logged: string[]
  let run: JobRun

  beforeEach(() => {
    ended = 0
    logged = []
    const log = createLog({ level: 'info', format: 'json', output: { write: (line) => void logged.push(line) } })
    const nothing = (): void => undefined
    const events = { ready: nothing, ended: () => void (ended += 1), removed: nothing, incomplete: nothing }
    run = new JobRun(folder, { ...services, log, supervisors: SEEN, abortTimeouts: ABORT_TIMEOUTS }, events)
  })

  test('stops with its end, which is reported once', async () => {
    await writeAgentEnd(folder, END, new Date())
    const before = timers()
    run.begin()
    expect({ state: run.state, ended, timers: timers() }).toEqual({ state: 'ended', ended: 1, timers: before })
    // Nothing was printed, so the end is what goes to the control plane next.
    expect(await run.replica.next(0, Buffer.alloc(0))).toMatchObject({ kind: 'end', record: END })
    run.begin()
    run.abort()
    expect({ ended, timers: timers() }).toEqual({ ended: 1, timers: before })
    expect(folder.look('abort.json').kind).toBe('absent')
    await run.dispose()
  })

  test('says once that a job of an earlier agent was found again', async () => {
    const self = identifyProcess(process.pid)
    writeFileSync(folder.file('started.json'), JSON.stringify({ ...self, time: '' }))
    for (let looks = 0; looks < 3; looks += 1) run.begin()
    await run.dispose()
    expect(logged.filter((line) => line.includes('job found again'))).toHaveLength(1)
  })

  test('stops when the agent leaves the job, which runs on', async () => {
    const self = identifyProcess(process.pid)
    writeFileSync(folder.file('started.json'), JSON.stringify({ ...self, time: '' }))
    const before = timers()
    run.begin()
    expect({ state: run.state, timers: timers() }).toEqual({ state: 'running', timers: before + 1 })
    const disposed = run.dispose()
    expect(timers()).toBe(before)
    run.begin()
    run.abort()
    expect({ state: run.state, ended, timers: timers() }).toEqual({ state: 'running', ended: 0, timers: before })
    await disposed
    expect(folder.look('abort.json').kind).toBe('absent')
  })
})

/** Says that it is there, as a supervisor does, and then hangs: it ends neither the job nor itself when it is told to. */
const STUCK = `import json, os, signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
folder = sys.argv[1]
ticks = int(open("/proc/self/stat").read().rpartition(")")[2].split()[19])
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
subprocess.Popen(["sleep", "600"], env={"HOLDFAST_JOB_MARKER": "${'a'.repeat(32)}", "PATH": os.environ["PATH"]})
with open(folder + "/started.new", "w") as file:
    json.dump({"pid": os.getpid(), "start_ticks": ticks, "boot_id": boot, "time": ""}, file)
os.rename(folder + "/started.new", folder + "/started.json")
while True:
    signal.pause()
`

describe('an abort', () => {
  test('does not wait for a hanging supervisor: all processes are ended, and the job is aborted', async () => {
    const script = join(parent, 'supervisor.py')
    writeFileSync(script, STUCK)
    const supervisor = spawn('python3', [script, folder.path], { stdio: 'ignore' })
    onTestFinished(() => void supervisor.kill('SIGKILL'))
    await waitUntil('it has begun', () => folder.started().kind === 'present')
    const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
    const nothing = (): void => undefined
    const abortTimeouts = { processesMs: 200, supervisorMs: 600 }
    const run = new JobRun(
      folder,
      { ...services, bootId: readBootId(), log, supervisors: SEEN, abortTimeouts },
      { ready: nothing, ended: nothing, removed: nothing, incomplete: nothing },
    )
    run.begin()
    expect(run.state).toBe('running')
    run.abort()
    await waitUntil('the job has ended', () => run.state === 'ended')
    expect(folder.end()).toMatchObject({ content: { cause: 'aborted', aborted: true } })
    expect(supervisor.signalCode).toBe('SIGKILL')
    expect(markedProcesses('a'.repeat(32))).toEqual([])
    await run.dispose()
  })

  test('is stored on a full disk, too', async (context) => {
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
      expect(job.look('abort.json').kind).toBe('present')
      expect(statSync(job.file('abort.json')).size).toBe(0)
    } finally {
      execFileSync('umount', ['-l', disk])
    }
  })
})
