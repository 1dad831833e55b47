import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { USUAL_DATABASE } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { SyntheticTruth } from './kit/load.js'
import { statusesOf } from './kit/moves.js'
import { approveRunner, runnerNamed } from './kit/other-agent.js'
import { expectExactly } from './kit/stored.js'

/** What an admin does with a runner ends no playbook of it, and what it still knows is followed when it is let in again. */
let chaos: ChaosProduct

const PATIENCE_MS = 300_000

beforeAll(async () => {
  chaos = await startChaos({ database: USUAL_DATABASE, controlPlane: { RTE_LOST_SECONDS: '1' } })
}, PATIENCE_MS)

afterAll(() => chaos.close())

const spooled = () => readdirSync(join(chaos.product.folder, 'rte-state/spool/jobs')).length

const status = async (jobId: number) => (await chaos.product.admin.get<{ status: string }>(`/job/${jobId}`)).status

/** A job whose playbook has begun and waits. */
async function launchGated(): Promise<{ jobId: number; truth: SyntheticTruth }> {
  const launched = await chaos.launchSynthetic({ steps: 200, gates: [100] })
  await waitFor('the playbook to have begun', () => launched.truth.written() > 0)
  return launched
}

async function runnerId(): Promise<number> {
  const runner = await runnerNamed(chaos, 'test-runner')
  if (!runner) throw new Error('there is no test-runner')
  return runner.id
}

async function removeRunner(id: number): Promise<void> {
  expect(await chaos.product.admin.request('DELETE', `/runner/${id}`)).toMatchObject({ status: 200 })
}

/** The agent dials at once, where one that was refused would wait. */
async function restartAgent(): Promise<void> {
  await chaos.product.agent.stop('SIGKILL')
  chaos.product.startAgent()
}

async function expectRealOutcome({ jobId, truth }: { jobId: number; truth: SyntheticTruth }): Promise<void> {
  truth.openGate(100)
  await waitFor(`job ${jobId} to succeed`, async () => (await status(jobId)) === 'success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
  expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'abandoned', 'success'])
}

describe('a runner that an admin shuts out while its playbook runs', () => {
  test(
    'removed while it was silent and approved again: the job goes on and ends with its real outcome',
    async () => {
      const { product } = chaos
      const job = await launchGated()
      await product.agent.stop('SIGKILL')
      await waitFor('the job to be abandoned', async () => (await status(job.jobId)) === 'abandoned')
      const before = await runnerId()
      await removeRunner(before)
      product.startAgent()
      expect((await approveRunner(chaos, 'test-runner')).id).not.toBe(before)
      await expectRealOutcome(job)
    },
    PATIENCE_MS,
  )

  test(
    'revoked, removed and approved again: the same',
    async () => {
      const { product } = chaos
      const job = await launchGated()
      await product.admin.post(`/runner/${await runnerId()}/revoke`)
      await waitFor('the job to be abandoned', async () => (await status(job.jobId)) === 'abandoned')
      await removeRunner(await runnerId())
      await restartAgent()
      await approveRunner(chaos, 'test-runner')
      await expectRealOutcome(job)
    },
    PATIENCE_MS,
  )

  test(
    'revoked and reinstated: the runner keeps its job meanwhile, and the job goes on',
    async () => {
      const { product } = chaos
      const job = await launchGated()
      const id = await runnerId()
      await product.admin.post(`/runner/${id}/revoke`)
      await waitFor('the job to be abandoned', async () => (await status(job.jobId)) === 'abandoned')
      await restartAgent()
      await waitFor('the agent to be refused', () => product.agent.said().includes('"reason":"revoked"'))
      expect(spooled()).toBe(1)
      await product.admin.post(`/runner/${id}/reinstate`)
      await restartAgent()
      await product.waitForRunner()
      expect(await runnerNamed(chaos, 'test-runner')).toMatchObject({ id, state: 'approved', enabled: true })
      await expectRealOutcome(job)
    },
    PATIENCE_MS,
  )
})
