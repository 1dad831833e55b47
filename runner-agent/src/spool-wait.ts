import { setTimeout as delay } from 'node:timers/promises'
import { createHealthServer } from './health.js'
import type { Logger } from './log.js'
import type { AgentSettings } from './settings.js'
import type { SpoolMark } from './spool/spool-mark.js'

const LOOK_EVERY_MS = 500

const NOTHING_YET = {
  ...{
    runningJobs: 0,
    claimingJobs: 0,
    maxJobs: 0,
    draining: false,
    spooledJobs: 0,
    spoolBytes: 0,
    unacknowledgedBytes: 0,
  },
  ...{ approved: false, connects: 0, isServiceRefused: false, cacheBytes: 0 },
}

/**
 * Waits until the spool is there, however long, and says meanwhile in the log and in `/ready` what it waits for. Without
 * it nobody knows which jobs this host has: connected, the agent would tell the control plane that it has none.
 */
export async function waitForSpool(
  mark: SpoolMark,
  { listenHost, port }: Pick<AgentSettings, 'listenHost' | 'port'>,
  log: Logger,
): Promise<void> {
  const missing = mark.problem()
  if (missing === null) return
  log.error({ problem: missing }, 'the agent waits for its spool; playbooks go on')
  const health = createHealthServer({
    notReady: () => ({ problem: mark.problem() ?? 'the agent starts' }),
    isolation: () => 'none',
    figures: () => NOTHING_YET,
  })
  try {
    const listening = await health.listen(listenHost, port)
    log.info({ address: `http://${listenHost}:${listening}` }, 'probes are answered here until the spool is there')
  } catch (error) {
    log.error({ error }, 'probes are not answered while the agent waits')
  }
  while (mark.problem() !== null) await delay(LOOK_EVERY_MS)
  await health.close()
  log.info('the spool is there')
}
