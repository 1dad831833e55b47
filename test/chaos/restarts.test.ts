import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { type Written, expectExact, keepWritten, storedOutput } from '../support/exactness.js'
import { GATED_FORM, countStarts, gatedPlaybook, openGate } from '../support/gated-playbook.js'
import { type Product, startProduct } from '../support/product.js'
import { killProcessesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type FaultyProxy, startFaultyProxy } from './kit/faulty-proxy.js'
import { covers } from '../interface/covers.js'

/** The survival points of spec runner.md section 4 that this release promises: restarts and a cut socket. */
let product: Product
let proxy: FaultyProxy | null = null
let gates: string

interface StartOptions {
  readonly throughProxy?: boolean
  readonly agent?: Record<string, string>
  readonly controlPlane?: Record<string, string>
}

async function start(options: StartOptions = {}): Promise<{ jobId: number; written: Written }> {
  gates = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  product = await startProduct({
    forms: { 'gated.yml': GATED_FORM },
    playbooks: { 'gated.yml': gatedPlaybook(gates) },
    agent: options.agent ?? {},
    controlPlane: options.controlPlane ?? {},
    ...(options.throughProxy
      ? {
          dial: async (address) => {
            proxy = await startFaultyProxy(address)
            return proxy.address
          },
        }
      : {}),
  })
  const jobId = await product.launch('gated')
  const written = await keepWritten(product, jobId)
  return { jobId, written }
}

const outputShows = (jobId: number, text: string) =>
  waitFor(`job ${jobId} to show "${text}"`, async () => (await storedOutput(product, jobId)).includes(text))

/** What the supervisor wrote, whether or not anybody stored it. */
const runnerWrote = (written: Written, text: string) =>
  waitFor(`the runner to have written "${text}"`, () => written.output().includes(text))

async function expectEndedExactly(jobId: number, written: Written): Promise<void> {
  const job = await product.waitForEnd(jobId)
  expect(job.status, String(job.status_reason)).toBe('success')
  await expectExact(product, jobId, written)
  expect(countStarts(gates)).toBe(1)
  expect(written.output().toString()).toContain('part 3 item 19 on three')
}

afterEach(async () => {
  await product.close()
  await proxy?.close()
  proxy = null
  rmSync(gates, { recursive: true, force: true })
})

describe('a job holds fast', () => {
  test('when the control plane is killed while the job streams', async () => {
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 19 on three')
    await product.controlPlane.stop('SIGKILL')
    openGate(gates, 1)
    await runnerWrote(written, 'part 2 item 19 on three')
    await product.startControlPlane()
    await outputShows(jobId, 'part 2 item 19 on three')
    expect((await product.admin.get(`/job/${jobId}`)).status).toBe('running')
    openGate(gates, 2)
    await expectEndedExactly(jobId, written)
  })

  test('when it ends while the control plane is down', async () => {
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 0')
    await product.controlPlane.stop('SIGTERM')
    openGate(gates, 1)
    openGate(gates, 2)
    await runnerWrote(written, 'PLAY RECAP')
    await product.startControlPlane()
    await expectEndedExactly(jobId, written)
  })

  test('when the agent is killed while the playbook runs', async () => {
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 0')
    await product.agent.stop('SIGKILL')
    openGate(gates, 1)
    await runnerWrote(written, 'part 2 item 19 on three')
    product.startAgent()
    await outputShows(jobId, 'part 2 item 19 on three')
    openGate(gates, 2)
    await expectEndedExactly(jobId, written)
  })

  test('when the agent is dead at the end of the playbook', async () => {
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 0')
    await product.agent.stop('SIGKILL')
    openGate(gates, 1)
    openGate(gates, 2)
    await runnerWrote(written, 'PLAY RECAP')
    product.startAgent()
    await expectEndedExactly(jobId, written)
  })

  test('when the agent is stopped and started in good order (RTE_ON_STOP=detach)', async () => {
    const { jobId, written } = await start({ agent: { RTE_DRAIN_SECONDS: '0' } })
    await outputShows(jobId, 'part 1 item 0')
    await product.agent.stop('SIGTERM')
    expect(written.output().toString()).not.toContain('part 2')
    openGate(gates, 1)
    product.startAgent()
    await outputShows(jobId, 'part 2 item 0')
    openGate(gates, 2)
    await expectEndedExactly(jobId, written)
  })

  test('when the socket is cut again and again', async () => {
    const { jobId, written } = await start({ throughProxy: true })
    await outputShows(jobId, 'part 1 item 0')
    openGate(gates, 1)
    for (let cuts = 0; cuts < 3; cuts += 1) {
      const before = proxy?.carried('up') ?? 0
      proxy?.cut()
      await waitFor('the agent to be back', () => (proxy?.carried('up') ?? 0) > before)
    }
    proxy?.hold(true)
    proxy?.cut()
    openGate(gates, 2)
    await runnerWrote(written, 'PLAY RECAP')
    proxy?.hold(false)
    await expectEndedExactly(jobId, written)
  })

  test('when both programs are killed at once', async () => {
    covers('over-time.once')
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 0')
    await Promise.all([product.agent.stop('SIGKILL'), product.controlPlane.stop('SIGKILL')])
    openGate(gates, 1)
    await product.startControlPlane()
    product.startAgent()
    openGate(gates, 2)
    await expectEndedExactly(jobId, written)
  })

  test('when its runner is silent so long that it is given up: the real outcome comes all the same', async () => {
    covers('status.abandoned', 'move.abandon', 'move.real-outcome')
    const { jobId, written } = await start({ throughProxy: true, controlPlane: { RTE_LOST_SECONDS: '1' } })
    await outputShows(jobId, 'part 1 item 19 on three')
    proxy?.hold(true)
    proxy?.cut()
    const abandoned = await product.waitForEnd(jobId)
    expect(abandoned).toMatchObject({ status: 'abandoned', abandoned_at: abandoned.end })
    expect(abandoned.status_reason).toMatch(/^the RTE 'test-runner' has been silent since \d{4}-/)
    proxy?.hold(false)
    openGate(gates, 1)
    // What arrives is stored and shown, while the job still counts as abandoned.
    await outputShows(jobId, 'part 2 item 19 on three')
    expect((await product.admin.get(`/job/${jobId}`)).status).toBe('abandoned')
    openGate(gates, 2)
    const job = await waitFor('the real outcome', async () => {
      const read = await product.admin.get(`/job/${jobId}`)
      return read.status === 'abandoned' ? null : read
    })
    expect(job).toMatchObject({ status: 'success', status_reason: null, abandoned_at: abandoned.abandoned_at })
    await expectExact(product, jobId, written)
    expect(countStarts(gates)).toBe(1)
  })

  test('when agent, supervisor and playbook are killed: it ends as failed with that reason', async () => {
    const { jobId, written } = await start()
    await outputShows(jobId, 'part 1 item 0')
    await product.agent.stop('SIGKILL')
    await killProcessesOfFolder(join(product.folder, 'rte-state'))
    product.startAgent()
    const job = await product.waitForEnd(jobId)
    expect(job.status).toBe('failed')
    expect(job.status_reason).toMatch(/supervisor|killed|gone/)
    await expectExact(product, jobId, written)
    expect(countStarts(gates)).toBe(1)
  })
})
