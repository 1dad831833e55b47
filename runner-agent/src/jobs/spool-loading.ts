import { setTimeout as delay } from 'node:timers/promises'
import { describeError, type Logger } from '../log.js'
import type { HostJobs } from './host-jobs.js'

/** Pause before a spool that could not be read is tried again, in milliseconds. */
const LOAD_AGAIN_MS = 1_000

/** Reads the list of jobs at the start. */
export type SpoolLoading = ReturnType<typeof createSpoolLoading>

/** Nothing is read before `load`. */
export function createSpoolLoading(hostJobs: Pick<HostJobs, 'load'>, log: Logger) {
  let problem: string | null = null
  return {
    /** Why the list of jobs cannot be read; null: it can, or was not tried yet. */
    get problem(): string | null {
      return problem
    },
    /**
     * Reads the list, however long that takes. Without it the agent must not say hello: the control plane would take
     * all jobs of this runner for lost.
     */
    async load(isClosing: () => boolean): Promise<void> {
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
