import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keepWritten, keptOf } from '../support/exactness.js'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import {
  type ChaosJob,
  expectEmptySpool,
  expectExactAndGone,
  launchEmitted,
  launchMixed,
  launchPlaybook,
} from './kit/jobs.js'
import { statusesOf } from './kit/moves.js'
import { REAL_JOBS } from './kit/real-job.js'
import { type Chance, seeded } from './kit/seed.js'
import { expectExactly } from './kit/stored.js'

const FILE = 'test/chaos/agent-restarts.test.ts'
/** Many starts of programs, on a machine that does other things too. */
const PATIENCE_MS = 300_000
const RESTARTS = 20
const JOBS = 10

let chaos: ChaosProduct

beforeEach(async () => {
  chaos = await startChaos({ ...REAL_JOBS, agent: { RTE_DRAIN_SECONDS: '0' } })
})
afterEach(() => chaos.close())

/** Ends the agent as a crash or as a service manager does. It may be at any point of its start, its work or its stop. */
async function endAgent(chance: Chance): Promise<void> {
  await chaos.product.agent.stop(chance.next() < 0.6 ? 'SIGKILL' : 'SIGTERM')
}

describe('restarts of the agent', () => {
  const MANY = 'twenty at drawn moments, during ten jobs: all are exact and were started once'
  test(
    MANY,
    seeded(FILE, MANY, async (chance) => {
      const jobs: ChaosJob[] = []
      const closed: ChaosJob[] = []
      const ofAnsible = new Set(chance.shuffle(Array.from({ length: JOBS }, (_, index) => index)).slice(0, 3))
      for (let restart = 0; restart < RESTARTS; restart += 1) {
        if (restart % 2 === 0) {
          const isOfAnsible = ofAnsible.has(jobs.length)
          const job = isOfAnsible ? await launchPlaybook(chaos) : await launchEmitted(chaos, chance)
          jobs.push(job)
          // Those of ansible end last, when what they wrote is surely held fast.
          if (!isOfAnsible) closed.push(job)
        }
        await pause(chance.between(0, 1000))
        await endAgent(chance)
        // Some go on, and end, while there is no agent.
        if (chance.next() < 0.4) closed.splice(chance.between(0, closed.length), 1)[0]?.openGate()
        chaos.product.startAgent()
      }
      expect(jobs).toHaveLength(JOBS)
      for (const job of jobs) {
        await job.keep()
        job.openGate()
      }
      await expectExactAndGone(chaos, jobs)
    }),
    PATIENCE_MS,
  )

  const TREE = 'with the whole tree of every job: each ends as failed with that reason, and what it wrote is exact'
  test(
    TREE,
    seeded(FILE, TREE, async (chance) => {
      const jobs = await launchMixed(chaos, chance, { ofAnsible: 2, emitted: 3 })
      // What the supervisor had written when it was killed is the truth, also of those that are emitted.
      for (const { jobId } of jobs) await keepWritten(chaos.product, jobId)
      for (const { truth } of jobs) await waitFor('the playbook to start', () => truth.starts() === 1)
      await pause(chance.between(0, 1500))
      await chaos.product.agent.stop('SIGKILL')
      await killProcessesOfFolder(join(chaos.product.folder, 'rte-state'))
      chaos.product.startAgent()
      // Once more, somewhere while it finds out.
      await pause(chance.between(0, 1000))
      await chaos.product.agent.stop('SIGKILL')
      chaos.product.startAgent()
      for (const { jobId, truth } of jobs) {
        const { status, status_reason } = await chaos.product.waitForEnd(jobId)
        const lost = 'the supervisor of the playbook was ended'
        expect({ jobId, status, status_reason }).toEqual({ jobId, status: 'failed', status_reason: lost })
        await expectExactly(chaos.product, jobId, { ...truth, ...keptOf(chaos.product, jobId) })
        expect(truth.starts()).toBe(1)
        expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'failed'])
      }
      await expectEmptySpool(chaos)
    }),
    PATIENCE_MS,
  )
})
