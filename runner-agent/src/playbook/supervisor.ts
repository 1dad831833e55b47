import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync, statSync } from 'node:fs'
import { isErrno, isPassing } from '@holdfast/host/system-errors'
import type { JobFolder } from '../spool/job-folder.js'
import type { Environment } from '../ground.js'

/** A supervisor that this agent process has started. */
export interface SupervisorProcess {
  /** Resolves when it has ended; never rejects. */
  readonly ended: Promise<SupervisorEnd>
  /** Ends it at once. */
  kill(): void
}

/**
 * How a supervisor of this process ended, in a sentence. `isToTryAgain`: it could not even be started, or it started
 * nothing and left no mark, because the host lacked something that it will have again.
 */
export interface SupervisorEnd {
  readonly how: string
  readonly isToTryAgain: boolean
}

/**
 * Exit codes that say that nothing was started: 18 from the supervisor itself, 1 from a Python that could not begin, 2
 * from a Python that did not find the program. None of them says anything about the job. So it is started again, as long as there is no started.json.
 */
const NOTHING_STARTED: readonly (number | null)[] = [1, 2, 18]

/**
 * Starts the supervisor of a job in a session of its own. It shares no pipe and no open file with the agent, and the
 * agent does not wait for it. So it goes on when the agent ends. Secrets go through a pipe, which is closed afterwards.
 * A supervisor that does not get all of them starts nothing and leaves no mark. Then the next agent starts the job.
 */
export function startSupervisor(
  folder: JobFolder,
  program: { python: string; script: string },
  environment: Environment,
  secrets: string | null,
): SupervisorProcess {
  const log = openSync(folder.file('supervisor.log'), 'a', 0o600)
  let child: ChildProcess
  try {
    child = spawn(program.python, ['-I', '-S', program.script, folder.path, ...(secrets === null ? [] : ['secrets'])], {
      cwd: '/',
      // The whole environment of the playbook is in supervisor.json. The supervisor itself needs almost nothing.
      env: { PATH: environment.PATH, LANG: environment.LANG, LC_ALL: environment.LC_ALL },
      detached: true,
      stdio: [secrets === null ? 'ignore' : 'pipe', log, log],
    })
  } finally {
    closeSync(log)
  }
  // A supervisor that has ended already cannot read its input. Its result says how it ended.
  child.stdin?.on('error', () => undefined).end(secrets)
  child.unref()
  return {
    ended: new Promise((resolve) => {
      child.once('error', (error) => {
        // A Python that is not there is being replaced, or a person installs it again.
        const isToTryAgain = isPassing(error) || isErrno(error, 'EAGAIN', 'ENOENT')
        resolve({ how: `${program.python} cannot be started: ${error.message}`, isToTryAgain })
      })
      child.once('exit', (code, signal) => {
        const how = signal === null ? `the supervisor ended with ${code ?? 0}` : `the supervisor was ended by ${signal}`
        resolve({ how, isToTryAgain: NOTHING_STARTED.includes(code) })
      })
    }),
    kill() {
      child.kill('SIGKILL')
    },
  }
}

/** The last line that a supervisor said about itself; empty when it said nothing. */
export function lastWordOf(folder: JobFolder): string {
  try {
    return readFileSync(folder.file('supervisor.log'), 'utf8').trimEnd().split('\n').at(-1) ?? ''
  } catch {
    return ''
  }
}

const WAITING = /^holdfast supervisor: waiting: (.*)$/

/** What a living supervisor waits for, in its own words; null: nothing, or it cannot be read. */
export function waitingOf(folder: JobFolder): string | null {
  try {
    // Most supervisors never write into this file.
    if (statSync(folder.file('supervisor.log')).size === 0) return null
  } catch {
    return null
  }
  return WAITING.exec(lastWordOf(folder))?.[1] ?? null
}
