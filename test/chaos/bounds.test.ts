import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { holdDatabase } from './kit/database-hold.js'
import { expectBoundedMemory } from './kit/peak-memory.js'
import { expectExactly } from './kit/stored.js'

/** Whatever piles up anywhere has a bound, and nothing is lost at it without a word. */
let chaos: ChaosProduct

afterEach(() => chaos.close())

const MEBIBYTE = 1024 * 1024
/** Bytes under way that are not acknowledged: of one job, of all (docs/protocol.md). */
const [JOB_WINDOW, SOCKET_WINDOW] = [2 * MEBIBYTE, 8 * MEBIBYTE]

const statusOf = async (jobId: number) => (await chaos.product.admin.get(`/job/${jobId}?output=false`)).status

const endOf = (jobId: number) =>
  waitFor(`job ${jobId} to end`, async () => {
    const job = await chaos.product.admin.get(`/job/${jobId}?output=false`)
    return job.status === 'running' ? null : job
  })

/** What heartbeats and reports add to the bytes that are carried, at the most, in a second. */
const A_FEW_WORDS = 20_000

/**
 * What is carried fills a window and stops there. More would come at once; that it stands still for a second can only be
 * wrong about a window that is too large.
 */
async function fills(carried: () => number, window: number): Promise<void> {
  await waitFor('the window to be full', () => carried() > window * 0.7)
  for (let last = -Infinity; carried() - last > A_FEW_WORDS;) {
    last = carried()
    await pause(1000)
  }
  expect(carried()).toBeLessThan(window + MEBIBYTE)
}

describe('a bound', () => {
  test('of the spool: beyond it jobs wait and running ones go on, and free space is used at once', async () => {
    chaos = await startChaos({ agent: { RTE_SPOOL_MAX_MB: '1' } })
    const first = await chaos.launchSynthetic({ steps: 100, outputBytes: 30_000, gates: [2, 100] })
    await waitFor('the first job to run', () => first.truth.waitsAt(2))
    const second = await chaos.launchSynthetic({ gates: [2] })
    await waitFor('the second job to run beside it', () => second.truth.waitsAt(2))
    chaos.proxy.hold(true)
    first.truth.openGate(2)
    await waitFor('the spool to be over its limit', () => first.truth.waitsAt(100))
    chaos.proxy.hold(false)

    const waiting = await chaos.launchSynthetic()
    const refusal = /"code":"spool_full","msg":"([^"]+)"/
    await waitFor('a new job to be refused', () => refusal.exec(chaos.product.agent.said()))
    expect(await statusOf(waiting.jobId)).toBe('running')
    expect(existsSync(waiting.truth.outputPath)).toBe(false)
    second.truth.openGate(2)
    expect(await endOf(second.jobId)).toMatchObject({ status: 'success' })
    expect(existsSync(waiting.truth.outputPath)).toBe(false)
    first.truth.openGate(100)
    for (const { jobId, truth } of [first, second, waiting]) {
      expect(await endOf(jobId)).toMatchObject({ status: 'success', detail: null })
      await expectExactly(chaos.product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
  })

  test('of unacknowledged bytes holds while the database is slow, for each job and for all, and everything is exact', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '0' } })
    const load = { steps: 400, outputBytes: 12_000, eventBytes: 1000, gates: [2] } as const
    const lone = await chaos.launchSynthetic(load)
    await waitFor('the lone job to run', () => lone.truth.waitsAt(2))
    const crowd = []
    for (let seed = 1; seed <= 12; seed += 1) crowd.push(await chaos.launchSynthetic({ ...load, seed }))
    for (const { truth } of crowd) await waitFor('the crowd to run', () => truth.waitsAt(2))

    const hold = await holdDatabase(chaos.product, 'begin immediate')
    const carried = chaos.proxy.carried('up')
    lone.truth.openGate(2)
    await waitFor('the lone job to be done', () => lone.truth.finished())
    await fills(() => chaos.proxy.carried('up') - carried, JOB_WINDOW)
    for (const { truth } of crowd) truth.openGate(2)
    for (const { truth } of crowd) await waitFor('the crowd to be done', () => truth.finished())
    await fills(() => chaos.proxy.carried('up') - carried, SOCKET_WINDOW)
    await hold.release()
    for (const { jobId, truth } of [lone, ...crowd]) {
      expect(await endOf(jobId)).toMatchObject({ status: 'success', detail: null })
      await expectExactly(chaos.product, jobId, truth)
    }
    expect(chaos.proxy.connections()).toBe(1)
    expectBoundedMemory(chaos.product, '13 jobs of 5 MB each before a locked database')
  })

  test('of a line: jobs that are in the middle of long event lines do not delay the stream of another job', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '0' } })
    const [start, rest] = ['start', 'rest'].map((name) => join(chaos.product.folder, name)) as [string, string]
    writeFileSync(start, `{"order":1,"type":"runner_on_ok","result":{"msg":"${'x'.repeat(255 * 1024)}`)
    writeFileSync(rest, '"}}\n')
    const raw = [start, rest].map((path, index) => ({ step: 2 + index, stream: 'events', path, times: 1 }) as const)
    const inside = []
    for (let count = 0; count < 26; count += 1) {
      inside.push(await chaos.launchSynthetic({ steps: 4, outputBytes: 100_000, eventBytes: 0, gates: [3], raw }))
    }
    for (const { truth } of inside) await waitFor('a job to be inside its line', () => truth.waitsAt(3))
    const other = await chaos.launchSynthetic({ steps: 100, outputBytes: 30_000, eventBytes: 200 })
    expect(await endOf(other.jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, other.jobId, other.truth)
    for (const { truth } of inside) truth.openGate(3)
    for (const { jobId, truth } of inside) {
      expect(await endOf(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(chaos.product, jobId, truth)
    }
    expect(chaos.proxy.connections()).toBe(1)
  })

  test('of memory: several readers of a job of 50 MB, in every form, some of them slow', async () => {
    chaos = await startChaos()
    const { jobId } = await chaos.launchSynthetic({ steps: 480, outputBytes: 100_000, eventBytes: 100 })
    expect(await endOf(jobId)).toMatchObject({ status: 'success', detail: null })
    const { address, admin } = chaos.product
    const open = async (path: string): Promise<ReadableStreamDefaultReader<Uint8Array>> => {
      const headers = { authorization: `Bearer ${admin.token}` }
      const response = await fetch(`${address}/api/v2/job/${jobId}${path}`, { headers })
      expect(response.status).toBe(200)
      if (!response.body) throw new Error('an answer without a body')
      return response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>
    }
    const readAll = async (path: string): Promise<number> => {
      const reader = await open(path)
      for (let bytes = 0; ;) {
        const { value, done } = await reader.read()
        if (done) return bytes
        bytes += value.length
      }
    }
    // These read a little and then nothing until the others are done.
    const slow = await Promise.all(['', '?text=true', '/download'].map(open))
    for (const reader of slow) expect((await reader.read()).done).toBe(false)
    const read = await Promise.all(['', '', '?text=true', '/download'].map(readAll))
    for (const bytes of read) expect(bytes).toBeGreaterThan(48_000_000)
    expect(read[0]).toBe(read[1])
    for (const reader of slow) await reader.cancel()
    expectBoundedMemory(chaos.product, 'seven readers of 50 MB')
  }, 600_000)
})
