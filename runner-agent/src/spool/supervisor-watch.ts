import { describeError, type Logger } from '../log.js'
import { lookAtProcess, type ProcessIdentity, type ProcessState } from '../host/processes.js'
import type { JobFolder, Started } from './job-folder.js'
import { lookAtLocks, type LockProgram } from '../host/kernel-lock.js'

/** Pause between two questions to the kernel about supervisors that cannot be seen, in milliseconds. */
const ASK_EVERY_MS = 5_000

/**
 * Whether supervisors run, also those that cannot be seen from here: in another PID namespace (the container of an agent
 * before this one), or because another boot id or other start times are shown. Each holds a lock on its `started.json`
 * for as long as it lives.
 */
export type SupervisorWatch = ReturnType<typeof createSupervisorWatch>

/** Whether a supervisor runs; `unknown`: nothing may be concluded. */
type SupervisorState = Exclude<ProcessState, 'other'>

interface Stranger {
  readonly path: string
  state: SupervisorState
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

  const lookAtLock = (name: string, folder: JobFolder): SupervisorState => {
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
    look(folder: JobFolder, started: Started): SupervisorState {
      const state = lookAtProcess(started)
      if (state === 'runs' || state === 'gone') return state
      // The kernel lets go of a lock when its holder ends. That is stronger than any number that is shown.
      if (started.locked === true) return lookAtLock(nameOf(started), folder)
      // On a file system without locks there is no lock that could tell.
      return state === 'other' ? 'gone' : 'unknown'
    },
    /**
     * The same of a supervisor whose `started.json` does not say who it is: only the lock on it can tell. So a file
     * whose lock cannot be asked about stays `unknown`.
     */
    lookAtTorn: (folder: JobFolder): SupervisorState => lookAtLock(folder.key.runId, folder),
    close(): void {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}

function nameOf({ boot_id, pid_namespace, pid, start_ticks }: ProcessIdentity): string {
  return [boot_id, pid_namespace, pid, start_ticks].join(' ')
}
