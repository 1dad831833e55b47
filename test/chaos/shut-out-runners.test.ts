import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyLiveFolder } from '../support/copied-folder.js'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { USUAL_DATABASE } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { SyntheticTruth } from './kit/load.js'
import { statusesOf } from './kit/moves.js'
import { approveRunner, runnerNamed, startOtherAgent } from './kit/other-agent.js'
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

describe('a runner that an admin revokes or removes while its playbook runs', () => {
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

interface Shown {
  readonly status: string
  readonly status_reason: string | null
  readonly detail: string | null
}

const shown = (jobId: number) => chaos.product.admin.get<Shown>(`/job/${jobId}`)

describe('a state folder that was restored from an older copy', () => {
  test(
    'is refused until an admin accepts it; then its jobs are compared, and stored bytes stay',
    async () => {
      const { product } = chaos
      const id = await runnerId()
      const copy = join(product.folder, 'restored-state')
      const gates = [100, 150]
      const ended = await chaos.launchSynthetic({ steps: 200, gates: [100] })
      const cutOff = await chaos.launchSynthetic({ steps: 200, gates })
      await waitFor('both to have begun', () => ended.truth.written() > 0 && cutOff.truth.written() > 0)
      await product.agent.stop('SIGKILL')
      await copyLiveFolder(join(product.folder, 'rte-state'), copy)

      // The host goes on: one job ends, one comes to its second gate, one is new.
      product.startAgent()
      await product.waitForRunner()
      for (const { truth } of [ended, cutOff]) truth.openGate(100)
      await waitFor('the first job to succeed', async () => (await status(ended.jobId)) === 'success')
      const { jobId: unknown, truth } = await launchGated()
      await waitFor('the third to have begun', () => truth.written() > 0)
      const output = async (jobId: number) => (await product.admin.raw(`/job/${jobId}/output?offset=0`)).bytes
      const before = await waitFor('output after the copy', async () => {
        const bytes = await output(cutOff.jobId)
        return cutOff.truth.written() >= 150 && bytes.length > 0 ? bytes : null
      })
      await product.agent.stop('SIGKILL')

      // Its disk is lost, and what the backup has takes its place.
      await killProcessesOfFolder(join(product.folder, 'rte-state'))
      const restored = () => startOtherAgent(chaos, { name: 'test-runner', statePath: copy, onOtherHost: true })
      const refused = restored()
      await waitFor('it to be refused', () => refused.said().includes('"reason":"clone"'))
      await refused.stop('SIGKILL')
      await product.admin.post(`/runner/${id}/accept`)
      const accepted = restored()
      await waitFor('it to be let in', () => accepted.said().includes('connected to the control plane and approved'))
      for (const { jobId } of [ended, cutOff, { jobId: unknown }]) {
        await waitFor(`job ${jobId} to be over`, async () => ['success', 'failed'].includes(await status(jobId)))
      }

      await waitFor('the contradiction to be said', async () => (await shown(ended.jobId)).detail)
      const { status: stays, detail } = await shown(ended.jobId)
      expect(stays).toBe('success')
      expect(detail).toContain("an older copy of the runner's state folder, accepted by admin, says otherwise")
      expect(detail).toContain('that it ended as failed (the host was restarted while the playbook ran)')
      await expectExactly(product, ended.jobId, ended.truth)
      expect(await shown(cutOff.jobId)).toMatchObject({
        status: 'failed',
        status_reason: 'the host was restarted while the playbook ran',
        detail: expect.stringContaining('which had been stored here before') as string,
      })
      expect((await output(cutOff.jobId)).subarray(0, before.length)).toEqual(before)
      expect(await shown(unknown)).toMatchObject({
        status: 'failed',
        status_reason: expect.stringContaining('knows no longer what became of the job') as string,
      })
      expect([ended, cutOff, { truth }].map((job) => job.truth.starts())).toEqual([1, 1, 1])
      expect(await runnerNamed(chaos, 'test-runner')).toMatchObject({ id, state: 'approved', clone: null })
      await accepted.stop('SIGKILL')
    },
    PATIENCE_MS,
  )
})
