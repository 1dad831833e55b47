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
 * Point 10 of spec runner.md section 4 for disks that lie: files that are torn, syncs that fail and folders that cannot be
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

test('spool files that were torn after the end of their jobs are told as they are, and what is gone is counted', async () => {
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
  test('before a job has started ends it as failed with that reason, and it never starts', async () => {
    const supervisor = { operation: 'sync', program: PROGRAMS.supervisor, action: 'EIO', once: true } as const
    const faults = [
      () => fail('sync', '*/claim.json', 'EIO', true),
      () => fail('sync', '*/spool/staging/*', 'EIO', true),
      () => fail('sync', '*/spool/jobs', 'EIO', true),
      () => chaos.faults.arm({ ...supervisor, path: '*/started.json' }),
      () => chaos.faults.arm({ ...supervisor, path: '*/spool/jobs/*' }),
    ]
    for (const arm of faults) {
      const fault = arm()
      const { jobId, truth } = await chaos.launchSynthetic()
      const job = await chaos.product.waitForEnd(jobId)
      expect(fault.wasMet()).toBe(true)
      expect(job.status).toBe('failed')
      expect(job.status_reason).toMatch(/i\/o error|Input\/output error/)
      expect(truth.starts()).toBe(0)
    }
    const { jobId, truth } = await chaos.launchSynthetic()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, jobId, truth)
  })

  test('at its end is said for the streams, and holds the end back for as long as it cannot be durable', async () => {
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
    expect(hasEndOnRunner(chaos, reserve.jobId)).toBe(false)
    expect(await chaos.product.admin.get(`/job/${reserve.jobId}`)).toMatchObject({ status: 'running' })
    for (const fault of notDurable) fault.disarm()
    for (const { jobId, truth } of jobs) {
      expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(chaos.product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
  })
})

test('a claimed job whose folder nobody can write ends as failed, leaves its slot to others and never starts', async () => {
  const broken = fail('open-write', '*/rte-state/spool/jobs/*', 'EIO')
  const { jobId, truth } = await chaos.launchSynthetic()
  const job = await chaos.product.waitForEnd(jobId)
  expect(job.status).toBe('failed')
  expect(job.status_reason).toMatch(/^the folder of the job cannot be written, so it was not started: .*EIO/)
  await chaos.product.agent.stop('SIGKILL')
  broken.disarm()
  chaos.product.startAgent()
  const next = await chaos.launchSynthetic()
  expect(await chaos.product.waitForEnd(next.jobId)).toMatchObject({ status: 'success' })
  expect(truth.starts()).toBe(0)
  expect(spoolFolderOf(chaos.product, jobId)).toBeNull()
})
