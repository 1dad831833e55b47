import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { storedOutput } from '../support/exactness.js'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { REAL_JOBS, type RealTruth, launchReal } from './kit/real-job.js'
import { expectExactly } from './kit/stored.js'
import { covers } from '../interface/covers.js'

/**
 * Restarts and cuts, each once, at a fixed place of a real playbook. What is drawn by
 * chance, many times and together, is in agent-restarts, control-plane-restarts and network.
 */
let chaos: ChaosProduct

interface Job {
  readonly jobId: number
  readonly truth: RealTruth
}

beforeAll(async () => {
  chaos = await startChaos({ ...REAL_JOBS, agent: { RTE_DRAIN_SECONDS: '0' } })
})

/** A test that failed may have left a program dead. */
beforeEach(async () => {
  const { product, proxy } = chaos
  proxy.hold(false)
  if (!product.controlPlane.isRunning()) await product.startControlPlane()
  if (!product.agent.isRunning()) product.startAgent()
  await product.waitForRunner()
})

afterAll(() => chaos.close())

/** A job with two gates that waits at its first one; what it printed before that is stored. */
async function startJob(): Promise<Job> {
  const { jobId, truth } = await launchReal(chaos.product, { gates: 2 })
  await truth.keep()
  await outputShows(jobId, 'part 1 item 9 on two')
  await waitFor('the first gate', () => truth.isAtGate(1))
  return { jobId, truth }
}

const outputShows = (jobId: number, text: string) =>
  waitFor(`job ${jobId} to show "${text}"`, async () => (await storedOutput(chaos.product, jobId)).includes(text))

/** What the supervisor wrote, whether or not anybody stored it. */
const writtenOf = ({ truth }: Job): string => readFileSync(truth.outputPath, 'utf8')

const isOver = (job: Job) => waitFor('the playbook to be over', () => writtenOf(job).includes('PLAY RECAP'))

async function expectEndedExactly({ jobId, truth }: Job): Promise<void> {
  const job = await chaos.product.waitForEnd(jobId)
  expect(job.status, String(job.status_reason)).toBe('success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
  expect(writtenOf({ jobId, truth })).toContain('part 3 item 9 on two')
}

describe('a job stays exact', () => {
  test('when the control plane is killed while the job streams', async () => {
    const { product } = chaos
    const job = await startJob()
    await product.controlPlane.stop('SIGKILL')
    job.truth.openGate(1)
    await waitFor('the second gate', () => job.truth.isAtGate(2))
    await product.startControlPlane()
    await outputShows(job.jobId, 'part 2 item 9 on two')
    expect((await product.admin.get(`/job/${job.jobId}`)).status).toBe('running')
    job.truth.openGate(2)
    await expectEndedExactly(job)
  })

  test('when it ends while the control plane is down', async () => {
    const job = await startJob()
    await chaos.product.controlPlane.stop('SIGTERM')
    job.truth.openGate(1)
    job.truth.openGate(2)
    await isOver(job)
    await chaos.product.startControlPlane()
    await expectEndedExactly(job)
  })

  test('when the agent is killed while the playbook runs', async () => {
    const job = await startJob()
    await chaos.product.agent.stop('SIGKILL')
    job.truth.openGate(1)
    await waitFor('the second gate', () => job.truth.isAtGate(2))
    chaos.product.startAgent()
    await outputShows(job.jobId, 'part 2 item 9 on two')
    job.truth.openGate(2)
    await expectEndedExactly(job)
  })

  test('when the agent is dead at the end of the playbook', async () => {
    const job = await startJob()
    await chaos.product.agent.stop('SIGKILL')
    job.truth.openGate(1)
    job.truth.openGate(2)
    await isOver(job)
    chaos.product.startAgent()
    await expectEndedExactly(job)
  })

  test('when the agent is stopped and started in good order (RTE_ON_STOP=detach)', async () => {
    const job = await startJob()
    await chaos.product.agent.stop('SIGTERM')
    expect(writtenOf(job)).not.toContain('part 2')
    job.truth.openGate(1)
    chaos.product.startAgent()
    await outputShows(job.jobId, 'part 2 item 0')
    job.truth.openGate(2)
    await expectEndedExactly(job)
  })

  test('when the socket is cut again and again', async () => {
    const { proxy } = chaos
    const job = await startJob()
    job.truth.openGate(1)
    for (let cuts = 0; cuts < 3; cuts += 1) {
      const before = proxy.carried('up')
      proxy.cut()
      await waitFor('the agent to be back', () => proxy.carried('up') > before)
    }
    proxy.hold(true)
    proxy.cut()
    job.truth.openGate(2)
    await isOver(job)
    proxy.hold(false)
    await expectEndedExactly(job)
  })

  test('when both programs are killed at once', async () => {
    covers('over-time.once')
    const { product } = chaos
    const job = await startJob()
    await Promise.all([product.agent.stop('SIGKILL'), product.controlPlane.stop('SIGKILL')])
    job.truth.openGate(1)
    await product.startControlPlane()
    product.startAgent()
    job.truth.openGate(2)
    await expectEndedExactly(job)
  })

  test('when agent, supervisor and playbook are killed: it ends as failed with that reason', async () => {
    const { product } = chaos
    const { jobId, truth } = await startJob()
    await product.agent.stop('SIGKILL')
    await killProcessesOfFolder(join(product.folder, 'rte-state'))
    product.startAgent()
    expect(await product.waitForEnd(jobId)).toMatchObject({
      status: 'failed',
      status_reason: 'the supervisor of the playbook was ended',
    })
    await expectExactly(product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })
})
