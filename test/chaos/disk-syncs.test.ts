import { statSync, truncateSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { keepWritten, keptOf } from '../support/exactness.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { hasEndOnRunner } from './kit/jobs.js'
import { spoolFolderOf } from './kit/leftovers.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'
import { expectExactly } from './kit/stored.js'

/**
 * Disks that lie: files that are torn, syncs that fail and folders that cannot be
 * written. Nothing is acknowledged falsely, no job starts that was not made safe, and the end says what was lost.
 */
let chaos: ChaosProduct

beforeAll(async () => {
  chaos = await startChaos()
})
afterEach(async () => {
  chaos.faults.disarmAll()
  chaos.proxy.hold(false)
  if (!chaos.product.agent.isRunning()) chaos.product.startAgent()
  await chaos.product.waitForRunner()
})
afterAll(() => chaos.close())

const fail = (operation: FaultRule['operation'], path: string, action: FaultRule['action'], once = false) =>
  chaos.faults.arm({ operation, path, action, once })

/** Why the agent is not ready; null: it is. */
async function readyReason(): Promise<string | null> {
  const address = /"address":"([^"]+)"/.exec(chaos.product.agent.said())?.[1] ?? ''
  const { reason } = (await (await fetch(`${address}/ready`)).json()) as { reason?: string }
  return reason ?? null
}

test('spool files that were torn after the end of their jobs are reported as they are, and lost bytes are counted', async () => {
  const jobs = []
  for (let count = 0; count < 3; count += 1) jobs.push(await chaos.launchSynthetic({ steps: 100, gates: [50] }))
  for (const { jobId, truth } of jobs) {
    await waitFor('the job to run', () => truth.waitsAt(50))
    await keepWritten(chaos.product, jobId)
  }
  chaos.proxy.hold(true)
  // What the old connection carries would still arrive when it is let go on.
  chaos.proxy.cut()
  for (const { jobId, truth } of jobs) {
    truth.openGate(50)
    await waitFor('the job to end on the runner', () => hasEndOnRunner(chaos, jobId))
  }
  await chaos.product.agent.stop('SIGKILL')
  const [output, events, none] = jobs.map(({ jobId }) => jobId) as [number, number, number]
  const shorten = (path: string, by: number) => truncateSync(path, statSync(path).size - by)
  shorten(keptOf(chaos.product, output).outputPath, 1234)
  shorten(keptOf(chaos.product, events).eventsPath, 100)
  chaos.product.startAgent()
  chaos.proxy.hold(false)
  const damage = 'the spool was damaged after the end:'
  expect(await chaos.product.waitForEnd(output)).toMatchObject({
    status: 'success',
    detail: expect.stringContaining(`${damage} 1234 bytes of output and 0 of events are gone`),
  })
  expect(await chaos.product.waitForEnd(events)).toMatchObject({
    status: 'success',
    detail: expect.stringContaining(`${damage} 0 bytes of output and 100 of events are gone`),
  })
  expect(await chaos.product.waitForEnd(none)).toMatchObject({ status: 'success', detail: null })
  for (const { jobId, truth } of jobs) {
    await expectExactly(chaos.product, jobId, { ...truth, ...keptOf(chaos.product, jobId) })
    expect(truth.starts()).toBe(1)
  }
})

describe('a sync that fails', () => {
  test('before a job has started delays its claim and its start, and the job runs once', async () => {
    // The end of another job has the control plane offer again at once.
    const others = await Promise.all([1, 2, 3].map(() => chaos.launchSynthetic({ gates: [1] })))
    for (const { truth } of others) await waitFor('another job to run', () => truth.waitsAt(1))
    const refusals = () => chaos.product.agent.said().split('job refused').length - 1
    const before = refusals()
    const staging = { operation: 'sync', program: PROGRAMS.agent, action: 'EIO', once: true } as const
    const start = { operation: 'sync', program: PROGRAMS.supervisor, action: 'EIO', once: true } as const
    const faults = [
      chaos.faults.arm({ ...staging, path: '*/claim.json' }),
      chaos.faults.arm({ ...staging, path: '*/spool/staging/*' }),
      chaos.faults.arm({ ...staging, path: '*/spool/jobs' }),
      chaos.faults.arm({ ...start, path: '*/started*' }),
      chaos.faults.arm({ ...start, path: '*/spool/jobs/*' }),
    ]
    const { jobId, truth } = await chaos.launchSynthetic()
    for (const [index, other] of others.entries()) {
      await waitFor('the offer to be given back', () => refusals() > before + index)
      expect(await readyReason()).toMatch(/^job \d+ cannot be taken yet: EIO/)
      other.truth.openGate(1)
      await chaos.product.waitForEnd(other.jobId)
    }
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({
      status: 'success',
      status_reason: null,
      detail: null,
    })
    expect(faults.map((fault) => fault.wasMet())).toEqual(faults.map(() => true))
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('at its end is reported for the streams, and an end that the disk does not take is told from memory', async () => {
    const load = { steps: 20, gates: [20] }
    const [output, events, reserve, folder] = await Promise.all([1, 2, 3, 4].map(() => chaos.launchSynthetic(load)))
    if (!output || !events || !reserve || !folder) throw new Error('four jobs were launched')
    const jobs = [output, events, reserve, folder]
    for (const { truth } of jobs) await waitFor('the job to run', () => truth.waitsAt(20))
    const notDurable = [
      fail('sync', `*/spool/jobs/${reserve.jobId}-*/reserve`, 'EIO'),
      fail('sync', `*/spool/jobs/${folder.jobId}-*`, 'EIO'),
    ]
    fail('sync', `*/spool/jobs/${output.jobId}-*/output.log`, 'EIO')
    fail('sync', `*/spool/jobs/${events.jobId}-*/events.jsonl`, 'EIO')
    for (const { truth } of jobs) truth.openGate(20)
    expect(await chaos.product.waitForEnd(output.jobId)).toMatchObject({
      status: 'success',
      detail: 'output.log could not be synced to the disk: Input/output error',
    })
    expect(await chaos.product.waitForEnd(events.jobId)).toMatchObject({
      status: 'success',
      detail: 'events.jsonl could not be synced to the disk: Input/output error',
    })
    for (const { jobId } of [reserve, folder]) {
      expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    }
    for (const fault of notDurable) fault.disarm()
    for (const { jobId, truth } of jobs) {
      expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(chaos.product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
  })
})

describe('a claimed job whose folder cannot be written', () => {
  test('because the disk is full ends as failed, frees its slot and never starts', async () => {
    const broken = fail('open-write', '*/rte-state/spool/jobs/*', 'ENOSPC')
    const { jobId, truth } = await chaos.launchSynthetic()
    const job = await chaos.product.waitForEnd(jobId)
    expect(job.status).toBe('failed')
    expect(job.status_reason).toMatch(/^the folder of the job cannot be written, so it was not started: .*ENOSPC/)
    await expectNothingLeft(broken, { jobId, truth })
  })

  test('because the disk fails waits, however long, and ends without a start when somebody aborts it', async () => {
    const broken = fail('open-write', '*/rte-state/spool/jobs/*', 'EIO')
    const { jobId, truth } = await chaos.launchSynthetic()
    const tries = () => chaos.product.agent.said().split('a step of a job failed; it is tried again').length - 1
    const before = tries()
    // More often than it is tried on a disk that is full.
    await waitFor('the agent to try', () => tries() > before + 11)
    expect(await chaos.product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running' })
    expect(await readyReason()).toMatch(/^job \d+: start: EIO/)
    expect((await chaos.product.admin.request('POST', `/job/${jobId}/abort`)).status).toBe(200)
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'aborted' })
    await expectNothingLeft(broken, { jobId, truth })
  })

  test('by its supervisor waits and says so; it starts when the folder can be written', async () => {
    const start = { operation: 'sync', program: PROGRAMS.supervisor, path: '*/started*' } as const
    const broken = chaos.faults.arm({ ...start, action: 'EIO' })
    const { jobId, truth } = await chaos.launchSynthetic()
    await waitFor('the agent to say why it waits', async () =>
      /^job \d+: its supervisor waits: Input\/output error$/.test((await readyReason()) ?? ''),
    )
    expect(await chaos.product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running' })
    expect(truth.starts()).toBe(0)
    broken.disarm()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null })
    await expectExactly(chaos.product, jobId, truth)
  })

  async function expectNothingLeft(broken: { disarm(): void }, job: { jobId: number; truth: { starts(): number } }) {
    await chaos.product.agent.stop('SIGKILL')
    broken.disarm()
    chaos.product.startAgent()
    const next = await chaos.launchSynthetic()
    expect(await chaos.product.waitForEnd(next.jobId)).toMatchObject({ status: 'success' })
    expect(job.truth.starts()).toBe(0)
    expect(spoolFolderOf(chaos.product, job.jobId)).toBeNull()
  }
})
