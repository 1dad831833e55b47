import type { Ground } from '../ground.js'
import type { HostPython } from './host-python.js'

/** Pause between two looks while no Python fits, in milliseconds: an operator may be installing one. */
const LOOK_AGAIN_MS = 5_000

/** The Python of this host. When none fits it is looked for again and again, so that nobody has to start the agent anew. */
export interface PythonWatch {
  readonly now: HostPython
  close(): void
}

/** @throws Error when no Python runs here at all */
export async function watchPython(
  find: () => Promise<HostPython>,
  { log, after }: Pick<Ground, 'log' | 'after'>,
): Promise<PythonWatch> {
  let now = await find()
  let waitNoMore = (): void => undefined
  let isClosed = false
  tell()

  function tell(): void {
    if (now.problem !== null) log.error({ problem: now.problem }, 'no job is taken until there is a Python for them')
    else log.info({ python: now.path }, 'playbooks are started with this Python')
    if (now.localeDoubt !== null) log.warn(now.localeDoubt)
  }

  async function lookAgain(): Promise<void> {
    try {
      const found = await find()
      if (found.problem !== now.problem || found.path !== now.path) {
        now = found
        tell()
      }
    } catch (error) {
      // Not even the Python of the last look is there. What was said of it is still true.
      log.warn({ error }, 'no Python runs here just now')
    }
    if (!isClosed && now.problem !== null) lookLater()
  }

  function lookLater(): void {
    waitNoMore = after(LOOK_AGAIN_MS, () => void lookAgain())
  }

  if (now.problem !== null) lookLater()
  return {
    get now() {
      return now
    },
    close() {
      isClosed = true
      waitNoMore()
    },
  }
}
