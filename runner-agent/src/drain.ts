import { setTimeout as delay } from 'node:timers/promises'
import type { ApprovalWatch } from './approval-watch.js'
import type { HostJobs } from './jobs/host-jobs.js'
import type { Logger } from './log.js'

/** Longest wait after all jobs were told to end: supervisors end them in steps, and then write the ends. In milliseconds. */
const TERMINATE_MS = 25_000
/** How long a stopping agent waits for the control plane to store what has ended. */
const STORE_MS = 2_000
const LOOK_MS = 50

/** What is drained, and what the settings say about it. */
export interface DrainDependencies {
  readonly hostJobs: Pick<HostJobs, 'drain' | 'abortAll' | 'figures'>
  readonly approvalWatch: Pick<ApprovalWatch, 'state'>
  readonly settings: { readonly drainSeconds: number; readonly onStop: 'detach' | 'terminate' }
  readonly log: Logger
  /** True when the agent is being closed, so that waiting makes no sense. */
  readonly isClosing: () => boolean
}

/** Takes no new jobs and waits for those that run, as long as the settings say. Then they are ended, or left running. */
export async function drain({ hostJobs, approvalWatch, settings, log, isClosing }: DrainDependencies): Promise<void> {
  /** Waits until something is so, for a while, or until the agent is ended anyway. */
  const until = async (isSo: () => boolean, milliseconds: number): Promise<void> => {
    const last = performance.now() + milliseconds
    while (!isSo() && !isClosing() && performance.now() < last) await delay(LOOK_MS)
  }
  const isIdle = (): boolean => hostJobs.figures().runningJobs + hostJobs.figures().claimingJobs === 0

  hostJobs.drain()
  log.info({ running: hostJobs.figures().runningJobs, wait_seconds: settings.drainSeconds }, 'agent stops')
  await until(isIdle, settings.drainSeconds * 1000)
  if (!isIdle() && settings.onStop === 'terminate') {
    hostJobs.abortAll()
    await until(isIdle, TERMINATE_MS)
  }
  if (!isIdle())
    log.info({ running: hostJobs.figures().runningJobs }, 'playbooks go on; the next start takes them up again')
  await until(() => !isIdle() || approvalWatch.state !== 'approved' || hostJobs.figures().spooledJobs === 0, STORE_MS)
}
