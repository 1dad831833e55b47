import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { Truth } from './kit/load.js'
import { runnerNamed } from './kit/other-agent.js'
import { REAL_JOBS, launchReal } from './kit/real-job.js'
import { seeded } from './kit/seed.js'
import { expectExactly } from './kit/stored.js'

/** Survival point 14: clocks that are hours off or jump change nothing of what happens, and are shown. */
const FILE = 'test/chaos/clock.test.ts'
const HOUR = 3600

/** Skews are compared by hours, so that no slowness of the machine can matter. */
const TOLERANCE_MS = 600_000

/** A silence and a wait that no test reaches, but every jump of a clock by hours. */
const SETTINGS = { RTE_LOST_SECONDS: '1800', RTE_QUEUE_MINUTES: '30' }

/** How long a jump is left alone: the control plane looks for what is overdue every second. */
const SEVERAL_LOOKS_MS = 2500

let chaos: ChaosProduct

beforeAll(async () => {
  chaos = await startChaos({ ...REAL_JOBS, controlPlane: SETTINGS })
})

afterEach(async () => {
  chaos.faults.moveClock(0)
  chaos.proxy.hold(false)
  await signInAgain()
  await limitJobs(null)
})

afterAll(() => chaos.close())

/** A token of a clock that was set otherwise since may have expired. */
async function signInAgain(): Promise<void> {
  const { product } = chaos
  Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
}

async function limitJobs(most: number | null): Promise<void> {
  const runner = await runnerNamed(chaos, 'test-runner')
  await chaos.product.admin.request('PUT', `/runner/${runner?.id}`, { max_jobs: most })
}

interface JobTimes {
  readonly status: string
  readonly status_reason: string | null
  readonly start: string
  readonly end: string
}

async function expectExactSuccess(jobId: number, truth: Truth): Promise<JobTimes> {
  const job = (await chaos.product.waitForEnd(jobId)) as unknown as JobTimes
  expect(job.status, String(job.status_reason)).toBe('success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
  return job
}

const stillRuns = async (jobId: number) =>
  expect(await chaos.product.admin.get(`/job/${jobId}?output=false`)).toMatchObject({
    status: 'running',
    status_reason: null,
  })

/** Waits until the runner's clock is shown to be so far ahead of the control plane's. */
const skewIsShown = (seconds: number) =>
  waitFor(`a skew of ${seconds} s to be shown`, async () => {
    const skew = (await runnerNamed(chaos, 'test-runner'))?.clock_skew_ms
    return skew !== undefined && Math.abs(skew - seconds * 1000) < TOLERANCE_MS
  })

describe('a runner whose clock', () => {
  const JUMPS = 'jumps by hours while jobs run shows it, and order, durations and times of its jobs are right'
  test(
    JUMPS,
    seeded(FILE, JUMPS, async (chance) => {
      const before = Date.now()
      const began = performance.now()
      const emitted = await chaos.launchSynthetic({ steps: 200, gates: [50, 100, 150] })
      const real = await launchReal(chaos.product)
      await real.truth.keep()
      await waitFor('the playbook to wait', () => real.truth.isAtGate())
      const waits = performance.now()
      for (const gate of [50, 100, 150]) {
        const seconds = chance.pick([-1, 1]) * chance.between(1, 24 * 365) * HOUR
        chaos.faults.moveClock(seconds, 'runner')
        emitted.truth.openGate(gate)
        await skewIsShown(seconds)
      }
      const waited = performance.now() - waits
      real.truth.openGate()
      const jobs = [
        await expectExactSuccess(real.jobId, real.truth),
        await expectExactSuccess(emitted.jobId, emitted.truth),
      ]
      // The control plane's clock is the one of this test: nothing of the runner's is in these times.
      for (const { start, end } of jobs) {
        expect(Date.parse(start)).toBeGreaterThanOrEqual(before)
        expect(Date.parse(end)).toBeGreaterThanOrEqual(Date.parse(start))
        expect(Date.parse(end)).toBeLessThanOrEqual(Date.now())
      }
      await expectDurations(real.jobId, waited, performance.now() - began)
    }),
  )

  /** No event lasted less than nothing or longer than the test; the task at the gate as long as the gate was closed. */
  async function expectDurations(jobId: number, waitedMs: number, atMostMs: number): Promise<void> {
    const { records } = await chaos.product.admin.get<{
      records: { type: string; task: string | null; duration: number | null }[]
    }>(`/job/${jobId}/events`)
    const durations = records.flatMap(({ duration }) => (duration === null ? [] : [duration]))
    expect(durations.length).toBeGreaterThan(20)
    for (const duration of durations) {
      expect(duration).toBeGreaterThanOrEqual(0)
      expect(duration).toBeLessThanOrEqual(atMostMs / 1000)
    }
    const atGate = records.find(({ type, task }) => type === 'runner_on_ok' && task === 'wait for gate 1')
    expect(atGate?.duration).toBeGreaterThanOrEqual(waitedMs / 1000)
  }

  test('is wrong by hours when its agent starts goes on with its jobs, and the control plane uses its own clock', async () => {
    const { product, faults } = chaos
    faults.moveClock(-7 * HOUR, 'runner')
    const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
    await waitFor('the job to have begun', () => truth.written() > 0)
    await product.agent.stop('SIGKILL')
    faults.moveClock(7 * HOUR, 'runner')
    product.startAgent()
    await skewIsShown(7 * HOUR)
    const runner = await runnerNamed(chaos, 'test-runner')
    expect(Math.abs(Date.parse(runner?.last_seen ?? '') - Date.now())).toBeLessThan(TOLERANCE_MS)
    await limitJobs(1)
    const waiting = await chaos.launchSynthetic()
    faults.moveClock(-7 * HOUR, 'runner')
    await skewIsShown(-7 * HOUR)
    await stillRuns(jobId)
    await stillRuns(waiting.jobId)
    truth.openGate(100)
    await expectExactSuccess(jobId, truth)
    await expectExactSuccess(waiting.jobId, waiting.truth)
  })
})

describe('a control plane whose clock is set', () => {
  test.each([5, -5])(
    'forward by %i hours abandons and fails no job of a runner that is connected, away, or full',
    async (hours) => {
      const { faults, proxy } = chaos
      await limitJobs(1)
      const held = await chaos.launchSynthetic({ gates: [50, 100] })
      await waitFor('the job to have begun', () => held.truth.written() > 0)
      const waiting = await chaos.launchSynthetic()
      await waitFor('the other one to wait', async () => {
        const { output } = await chaos.product.admin.get(`/job/${waiting.jobId}?text=true`)
        return String(output).includes('Waiting for a free slot')
      })

      faults.moveClock(hours * HOUR, 'control plane')
      await signInAgain()
      await skewIsShown(-hours * HOUR)
      held.truth.openGate(50)
      await pause(SEVERAL_LOOKS_MS)
      await stillRuns(held.jobId)
      await stillRuns(waiting.jobId)

      proxy.hold(true)
      await waitFor('the runner to be shown offline', async () => !(await runnerNamed(chaos, 'test-runner'))?.online)
      faults.moveClock(0, 'control plane')
      await signInAgain()
      await pause(SEVERAL_LOOKS_MS)
      await stillRuns(held.jobId)
      faults.moveClock(hours * HOUR, 'control plane')
      await signInAgain()
      await pause(SEVERAL_LOOKS_MS)
      await stillRuns(held.jobId)
      await stillRuns(waiting.jobId)
      proxy.hold(false)
      faults.moveClock(0, 'control plane')
      await signInAgain()
      held.truth.openGate(100)
      await expectExactSuccess(held.jobId, held.truth)
      await expectExactSuccess(waiting.jobId, waiting.truth)
    },
  )

  test('while it was down, as if it had been down for hours, fails no job that waits for a runner that is full or away', async () => {
    const { faults, product, proxy } = chaos
    await limitJobs(1)
    const held = await chaos.launchSynthetic({ gates: [100] })
    await waitFor('the job to have begun', () => held.truth.written() > 0)
    const waiting = await chaos.launchSynthetic()
    await waitFor('the other one to wait', async () => {
      const { output } = await product.admin.get(`/job/${waiting.jobId}?text=true`)
      return String(output).includes('Waiting for a free slot')
    })
    proxy.hold(true)
    await product.controlPlane.stop('SIGKILL')
    faults.moveClock(2 * HOUR, 'control plane')
    await product.startControlPlane()
    await signInAgain()
    await pause(SEVERAL_LOOKS_MS)
    await stillRuns(waiting.jobId)
    proxy.hold(false)
    await waitFor('the runner to be back', async () => (await runnerNamed(chaos, 'test-runner'))?.online)
    await pause(SEVERAL_LOOKS_MS)
    await stillRuns(waiting.jobId)
    held.truth.openGate(100)
    await expectExactSuccess(held.jobId, held.truth)
    await expectExactSuccess(waiting.jobId, waiting.truth)
  })

  test('back while a job runs does not make the job end before it began', async () => {
    chaos.faults.moveClock(5 * HOUR, 'control plane')
    await signInAgain()
    const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
    await waitFor('the job to have begun', () => truth.written() > 0)
    chaos.faults.moveClock(0, 'control plane')
    truth.openGate(100)
    const { start, end } = await expectExactSuccess(jobId, truth)
    expect(Date.parse(start)).toBeGreaterThan(Date.now() + HOUR * 1000)
    expect(end).toBe(start)
  })
})
