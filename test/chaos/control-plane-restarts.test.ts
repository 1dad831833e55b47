import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { type ChaosJob, expectExactAndGone, launchMixed, waitForEndsOnRunner } from './kit/jobs.js'
import { REAL_JOBS } from './kit/real-job.js'
import { type Chance, seeded } from './kit/seed.js'

const FILE = 'test/chaos/control-plane-restarts.test.ts'
/** Many starts of programs, on a machine that does other things too. */
const PATIENCE_MS = 300_000
/** How long the control plane is down, drawn: 1 to 20 s at a tenth of their length. */
const DOWN_MS = [100, 2000] as const

let chaos: ChaosProduct

beforeEach(async () => {
  chaos = await startChaos({ ...REAL_JOBS, agent: { RTE_DRAIN_SECONDS: '0' } })
})
afterEach(() => chaos.close())

/** Jobs that have started and wait at their gates, or will. */
async function launchSome(chance: Chance): Promise<ChaosJob[]> {
  const jobs = await launchMixed(chaos, chance, { ofAnsible: 2, emitted: 4 })
  for (const job of jobs) await job.keep()
  return jobs
}

/** Looks at the job list again and again, as a page does; says what it showed in all. */
function watchStatuses(): { stop(): Promise<Set<string>> } {
  const seen = new Set<string>()
  const stopped = new AbortController()
  const watching = (async () => {
    while (!stopped.signal.aborted) {
      try {
        const { records } = await chaos.product.admin.get<{ records: { status: string }[] }>('/job')
        for (const { status } of records) seen.add(status)
      } catch {
        // Down: nobody is shown anything.
      }
      await pause(20)
    }
  })()
  return {
    async stop() {
      stopped.abort()
      await watching
      return seen
    },
  }
}

describe('kill -9 of the control plane', () => {
  const STREAMING = 'while jobs stream, several times: all are exact, and none is ever shown as anything but running'
  test(
    STREAMING,
    seeded(FILE, STREAMING, async (chance) => {
      const watch = watchStatuses()
      const jobs = await launchSome(chance)
      const closed = chance.shuffle(jobs)
      for (let kills = 0; kills < 3; kills += 1) {
        for (const job of closed.splice(0, 2)) job.openGate()
        await pause(chance.between(0, 800))
        await chaos.product.controlPlane.stop('SIGKILL')
        await pause(chance.between(...DOWN_MS))
        await chaos.product.startControlPlane()
      }
      await expectExactAndGone(chaos, jobs)
      expect([...(await watch.stop())].sort()).toEqual(['running', 'success'])
    }),
    PATIENCE_MS,
  )

  const ENDING = 'and every job ends while it is down: exact after its start'
  test(
    ENDING,
    seeded(FILE, ENDING, async (chance) => {
      const jobs = await launchSome(chance)
      await pause(chance.between(0, 300))
      await chaos.product.controlPlane.stop('SIGKILL')
      for (const job of jobs) job.openGate()
      await waitForEndsOnRunner(chaos, jobs)
      await chaos.product.startControlPlane()
      // And once more, while the ends arrive.
      await pause(chance.between(0, 1000))
      await chaos.product.controlPlane.stop('SIGKILL')
      await chaos.product.startControlPlane()
      await expectExactAndGone(chaos, jobs)
    }),
    PATIENCE_MS,
  )
})

describe('both programs', () => {
  const BOTH = 'killed in turn and together at drawn moments: all are exact'
  test(
    BOTH,
    seeded(FILE, BOTH, async (chance) => {
      const jobs = await launchSome(chance)
      const closed = chance.shuffle(jobs)
      for (let round = 0; round < 4; round += 1) {
        closed.pop()?.openGate()
        await pause(chance.between(0, 600))
        const victims = chance.pick(['agent', 'control plane', 'both', 'both'] as const)
        const signal = chance.pick(['SIGKILL', 'SIGKILL', 'SIGTERM'] as const)
        const { agent, controlPlane } = chaos.product
        if (victims !== 'agent') await controlPlane.stop(signal)
        if (victims !== 'control plane') await agent.stop(signal)
        closed.pop()?.openGate()
        await pause(chance.between(0, 300))
        if (victims !== 'control plane') chaos.product.startAgent()
        if (victims !== 'agent') await chaos.product.startControlPlane()
      }
      await expectExactAndGone(chaos, jobs)
    }),
    PATIENCE_MS,
  )
})
