import { describeError, type Logger } from '../log.js'
import { lookAtProcess, type ProcessIdentity, type ProcessState } from '../host/processes.js'
import type { JobFolder, Started } from './job-folder.js'
import { lookAtLocks, type LockProgram } from '../host/kernel-lock.js'

/** Pause between two questions to the kernel about supervisors that cannot be seen, in milliseconds. */
const ASK_EVERY_MS = 5_000

/**
 * Whether supervisors run, also those in another PID namespace (the container of an agent before this one): they cannot
 * be seen from here, but each holds a lock on its `started.json` for as long as it lives.
 */
export type SupervisorWatch = ReturnType<typeof createSupervisorWatch>

interface Stranger {
  readonly path: string
  state: ProcessState
  /** True when somebody looked at it after the last question. If nobody does, its job is over and it is not asked about. */
  isWanted: boolean
}

/** @param program asks the kernel whether a lock is held */
export function createSupervisorWatch({ program, log }: { program: LockProgram; log: Logger }) {
  /** Supervisors that cannot be seen, by what names them. Those that are seen to be gone stay, a few bytes each. */
  const strangers = new Map<string, Stranger>()
  let timer: NodeJS.Timeout | null = null
  let isAsking = false
  let isClosed = false

  const ask = async (): Promise<void> => {
    const asked = [...strangers.values()].filter(({ state, isWanted }) => isWanted && state !== 'gone')
    for (const stranger of asked) stranger.isWanted = false
    const words = await lookAtLocks(
      program,
      asked.map(({ path }) => path),
    )
    for (const [index, stranger] of asked.entries()) {
      // No other answer of the kernel means that the supervisor is gone.
      stranger.state = words[index] === 'free' ? 'gone' : words[index] === 'held' ? 'runs' : 'unknown'
    }
  }

  const askSoon = (milliseconds: number): void => {
    if (isClosed || isAsking || timer !== null) return
    timer = setTimeout(() => {
      timer = null
      isAsking = true
      void ask()
        .catch((error: unknown) => {
          log.warn({ error: describeError(error) }, 'cannot look at the locks of supervisors; tried again')
        })
        .finally(() => {
          isAsking = false
        })
    }, milliseconds)
    timer.unref()
  }

  const lookAtLock = (name: string, folder: JobFolder): ProcessState => {
    const known = strangers.get(name)
    if (known?.state === 'gone') return 'gone'
    if (known) known.isWanted = true
    else strangers.set(name, { path: folder.file('started.json'), state: 'unknown', isWanted: true })
    askSoon(known ? ASK_EVERY_MS : 0)
    return known?.state ?? 'unknown'
  }

  return {
    /**
     * Never waits. `unknown` says that nothing may be concluded; a later look may tell more. What is `gone` stays gone.
     * @throws the system's error when `/proc` cannot be read now
     */
    look(folder: JobFolder, started: Started): ProcessState {
      const state = lookAtProcess(started)
      // On a file system without locks there is no lock that could tell.
      return state !== 'unknown' || started.locked !== true ? state : lookAtLock(nameOf(started), folder)
    },
    /**
     * The same of a supervisor whose `started.json` does not say who it is: only the lock on it can tell. So a file
     * whose lock cannot be asked about stays `unknown`.
     */
    lookAtTorn: (folder: JobFolder): ProcessState => lookAtLock(folder.key.runId, folder),
    close(): void {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function nameOf({ boot_id, pid_namespace, pid, start_ticks }: ProcessIdentity): string {
  return [boot_id, pid_namespace, pid, start_ticks].join(' ')
}
