import { setTimeout as delay } from 'node:timers/promises'
import { describeError, type Logger } from '../log.js'
import type { HostJobs } from './host-jobs.js'

/** Pause before a spool that could not be read is tried again, in milliseconds. */
const LOAD_AGAIN_MS = 1_000

/** Reads the list of jobs at the start. */
export interface SpoolLoading {
  /** Why the list of jobs cannot be read; null: it can, or was not tried yet. */
  readonly problem: string | null
  /**
   * Reads the list, however long that takes. Without it the agent must not say hello: the control plane would take all
   * jobs of this runner for lost.
   */
  load(isClosing: () => boolean): Promise<void>
}

/** Nothing is read before `load`. */
export function createSpoolLoading(hostJobs: Pick<HostJobs, 'load'>, log: Logger): SpoolLoading {
  let problem: string | null = null
  return {
    get problem() {
      return problem
    },
    async load(isClosing) {
      while (!isClosing()) {
        try {
          await hostJobs.load()
          problem = null
          return
        } catch (error) {
          problem = `the spool cannot be read: ${describeError(error)}`
          log.error({ problem }, 'the agent waits for its spool')
          await delay(LOAD_AGAIN_MS)
        }
      }
    },
  }
}
