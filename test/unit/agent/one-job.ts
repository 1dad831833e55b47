import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EndRecord } from '@holdfast/protocol'
import { pino } from 'pino'
import { onTestFinished } from 'vitest'
import { identifyProcess } from '../../../runner-agent/src/host/processes.js'
import { ABORT_TIMEOUTS } from '../../../runner-agent/src/jobs/decide.js'
import { JobRun, type JobRunServices } from '../../../runner-agent/src/jobs/job-run.js'
import { createJobFolder, type JobFileName, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { sha256Of } from '../../agent/fake-control-plane.js'

/** The state of a supervisor, which the test says. */
export type Says = 'runs' | 'gone' | 'unknown'

/** An errno of the system, as an error. */
export const errorOf = (code: string): Error => Object.assign(new Error(`${code}: the system says no`), { code })

/** The bytes of a stream as an end record counts them. */
const counted = (text: string) => ({ length: text.length, sha256: sha256Of(Buffer.from(text)) })

/** The end of a job that has printed `output`. */
export function endOf(output = '', lost: { bytes?: number; events?: number } = {}): EndRecord {
  return {
    run_id: 'a'.repeat(32),
    cause: 'exited',
    exit_code: 0,
    signal: null,
    message: null,
    aborted: false,
    started_at: null,
    ended_at: '2026-11-20T08:00:00.000Z',
    output: { ...counted(output), dropped_bytes: lost.bytes ?? 0 },
    events: { ...counted(''), dropped: lost.events ?? 0, errors: 0, plugin_seen: true },
  }
}

/**
 * One job in a folder of its own, which does nothing before `run.begin()`. The test says what its supervisor does.
 * @param of the folder as the job sees it
 * @param path where a playbook finds its programs
 */
export function oneJob(
  change: Partial<JobRunServices> = {},
  of: (folder: JobFolder) => JobFolder = (folder) => folder,
  path = process.env['PATH'] ?? '',
) {
  const parent = mkdtempSync(join(tmpdir(), 'holdfast-one-job-'))
  const key = { jobId: 1, runId: 'a'.repeat(32) }
  const folder = createJobFolder(join(parent, `${key.jobId}-${key.runId}`), key)
  mkdirSync(folder.path)
  const told: string[] = []
  const logged: string[] = []
  const supervisor = { says: 'runs' as Says, looks: 0 }
  const look = (): Says => {
    supervisor.looks += 1
    return supervisor.says
  }
  const services: JobRunServices = {
    now: () => new Date(),
    bootId: 'this boot',
    playbook: {
      localFolder: parent,
      environment: { PATH: path },
      passEnvironment: [],
      pythonProblem: null,
      galaxy: null,
      container: null,
      python: '/none',
      callbackFolder: '/none',
      isolation: { kind: 'none' },
      sockets: { folderOf: () => '/none', remove: () => Promise.resolve() },
    },
    supervisor: { python: '/none', script: '/none' },
    openSecrets: () => null,
    releaseUser: () => Promise.resolve([]),
    giveUp: () => Promise.reject(new Error('this job is never given up')),
    log: pino({ level: 'info' }, { write: (line) => void logged.push(line) }),
    supervisors: { look, lookAtTorn: look },
    abortTimeouts: ABORT_TIMEOUTS,
    ...change,
  }
  const run = new JobRun(of(folder), services, {
    ready: () => void told.push('ready'),
    ended: () => void told.push('ended'),
    incomplete: () => void told.push('incomplete'),
    removed: () => void told.push('removed'),
  })
  onTestFinished(async () => {
    await run.dispose()
    rmSync(parent, { recursive: true })
  })
  const write = (name: JobFileName, content: unknown): void => {
    writeFileSync(folder.file(name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  /** Lines of the log with these words. */
  const said = (words: string): number => logged.filter((line) => line.includes(words)).length
  return { parent, folder, run, told, logged, said, supervisor, write }
}

/** A start by a process that nobody finds on this host. */
export const STARTED = { pid: 2 ** 22 + 1, start_ticks: 1, boot_id: 'this boot', time: '' }

/** A process in place of a supervisor. It takes no notice of SIGTERM. */
export async function stubborn(): Promise<{ child: ChildProcess; started: object }> {
  const child = spawn('sh', ['-c', 'trap "" TERM; echo ready; read line'], { stdio: ['pipe', 'pipe', 'ignore'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  if (!child.stdout) throw new Error('it has no output')
  await once(child.stdout, 'data')
  return { child, started: { ...identifyProcess(child.pid ?? 0), time: '' } }
}
