import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { storedOutput } from '../support/exactness.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { type SyntheticTruth } from './kit/load.js'
import { runnerNamed } from './kit/other-agent.js'
import { expectExactly } from './kit/stored.js'

/** Survival point 8: what gathers while the network is away slows no play, and holds up nobody when it drains. */
const CUT_SECONDS = Number(process.env['CHAOS_CUT_SECONDS'] ?? '8')
const EVENTS_PER_SECOND = 2000

/** A backlog of 80 MB, which takes 40 s at the speed at which it drains while the test looks. */
const BACKLOG = { steps: 1601, outputBytes: 50_000, eventBytes: 0, gates: [2] }
const DRAIN_BYTES_PER_SECOND = 2_000_000
const LIVE_LINES = 5

let chaos: ChaosProduct

beforeAll(async () => {
  chaos = await startChaos({
    controlPlane: { PROCESS_MAX_BUFFER_MB: '200', RTE_HEARTBEAT_SECONDS: '2', RTE_LOST_SECONDS: '3600' },
    agent: { RTE_SPOOL_MAX_MB: '4096' },
  })
})

afterEach(() => {
  chaos.proxy.hold(false)
})

afterAll(() => chaos.close())

async function expectExactSuccess(jobId: number, truth: SyntheticTruth): Promise<void> {
  const { status, status_reason: reason } = await chaos.product.waitForEnd(jobId)
  expect(status, String(reason)).toBe('success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
}

const statusOf = async (jobId: number) => (await chaos.product.admin.get(`/job/${jobId}?output=false`)).status

test(`a play that emits ${EVENTS_PER_SECOND} events a second is over before the network is back, and is exact`, async () => {
  const steps = EVENTS_PER_SECOND * CUT_SECONDS + 101
  const load = { steps, perSecond: EVENTS_PER_SECOND, outputBytes: 60, eventBytes: 200, gates: [101] }
  const { jobId, truth } = await chaos.launchSynthetic(load)
  await waitFor('something to be stored', async () => (await storedOutput(chaos.product, jobId)).length > 0)
  chaos.proxy.hold(true)
  chaos.proxy.cut()
  truth.openGate(101)
  // All of it is written while nobody can take any of it: the play waits for no network.
  await waitFor('the play to be over', () => truth.finished(), { timeoutMs: (CUT_SECONDS + 100) * 1000 })
  expect(await statusOf(jobId)).toBe('running')
  chaos.proxy.hold(false)
  await expectExactSuccess(jobId, truth)
  const { seconds, latest } = truth.pace()
  const ideal = (steps / EVENTS_PER_SECOND).toFixed(2)
  process.stderr.write(
    `a cut of ${ideal} s: the play took ${seconds.toFixed(2)} s, latest step ${latest.toFixed(3)} s late\n`,
  )
})

test('a line that another job writes is shown while a large backlog drains, and no heartbeat starves', async () => {
  const backlog = await chaos.launchSynthetic(BACKLOG)
  const gates = Array.from({ length: LIVE_LINES + 1 }, (_, index) => index + 2)
  const live = await chaos.launchSynthetic({ steps: LIVE_LINES + 2, gates })
  await waitFor('both to run', () => backlog.truth.written() > 0 && live.truth.written() > 0)
  chaos.proxy.hold(true)
  backlog.truth.openGate(2)
  await waitFor('the backlog to be written', () => backlog.truth.finished())
  expect(backlog.truth.written()).toBeGreaterThan(80_000_000)
  chaos.proxy.hold(false)
  chaos.proxy.flow('up', { kind: 'throttled', bytesPerSecond: DRAIN_BYTES_PER_SECOND })
  await waitFor('it to drain', async () => (await storedOutput(chaos.product, backlog.jobId)).length > 1_000_000)
  const connections = chaos.proxy.connections()

  for (const gate of gates.slice(0, LIVE_LINES)) {
    live.truth.openGate(gate)
    await waitFor(`line ${gate} to be shown`, async () => {
      expect((await runnerNamed(chaos, 'test-runner'))?.online).toBe(true)
      return (await storedOutput(chaos.product, live.jobId)).includes(`step ${gate}: `)
    })
    expect(await statusOf(backlog.jobId), 'the backlog was not drained yet').toBe('running')
  }
  // Counted before anything is compared: the proxy is in this process, and reading 80 MB keeps it from its work.
  expect(chaos.proxy.connections()).toBe(connections)
  chaos.proxy.flow('up', { kind: 'open' })
  live.truth.openGate(LIVE_LINES + 2)
  await expectExactSuccess(live.jobId, live.truth)
  await expectExactSuccess(backlog.jobId, backlog.truth)
})
