import { statSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { RunningProcess } from '../support/process.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { FaultyProxy } from './kit/faulty-proxy.js'
import type { Truth } from './kit/load.js'
import { runnerNamed } from './kit/other-agent.js'
import { REAL_JOBS, launchReal } from './kit/real-job.js'
import { type Chance, seeded } from './kit/seed.js'
import { expectExactly } from './kit/stored.js'

/** Survival point 7: whatever the network does to the socket, every job is exact. One product lives through all of it. */
const FILE = 'test/chaos/network.test.ts'

let chaos: ChaosProduct
let proxy: FaultyProxy

beforeAll(async () => {
  chaos = await startChaos(REAL_JOBS)
  proxy = chaos.proxy
})

afterEach(async () => {
  mend()
  await chaos.product.waitForRunner()
})

afterAll(() => chaos.close())

function mend(): void {
  proxy.refuse(false)
  for (const direction of ['up', 'down'] as const) proxy.flow(direction, { kind: 'open' })
}

async function expectExactSuccess(jobId: number, truth: Truth): Promise<void> {
  const { status, status_reason: reason } = await chaos.product.waitForEnd(jobId)
  expect(status, String(reason)).toBe('success')
  await expectExactly(chaos.product, jobId, truth)
  expect(truth.starts()).toBe(1)
}

/** How often a program has given up a connection because of its silence. */
function lossesOf(program: RunningProcess): number {
  return program.said().split('"reason":"heartbeat_lost"').length - 1
}

const isOffline = () =>
  waitFor('the runner to be shown offline', async () => !(await runnerNamed(chaos, 'test-runner'))?.online)

const CUTS = 'a job is exact when its socket is cut in the middle of frames, again and again, in both directions'
test(
  CUTS,
  seeded(FILE, CUTS, async (chance) => {
    const [cuts, part] = [6, 100]
    const gates = Array.from({ length: cuts }, (_, index) => index * part + 2)
    const load = { outputBytes: chance.between(300, 3000), eventBytes: chance.between(300, 3000) }
    const { jobId, truth } = await chaos.launchSynthetic({ ...load, steps: cuts * part, gates, binary: true })
    const before = proxy.connections()
    let stored = 0
    for (const gate of gates) {
      const cut = cutSomewhere(chance)
      truth.openGate(gate)
      await cut
      await waitFor('what was written to be stored', async () => {
        const { bytes } = await chaos.product.admin.raw(`/job/${jobId}/output?offset=${stored}`)
        stored += bytes.length
        return stored === statSync(truth.outputPath).size
      })
    }
    await expectExactSuccess(jobId, truth)
    expect(proxy.connections() - before).toBeGreaterThanOrEqual(cuts)
  }),
)

/** Cuts in the middle of what is sure to come: the streams of a part, an acknowledgement of it, or a new handshake. */
function cutSomewhere(chance: Chance): Promise<void> {
  switch (chance.pick(['streams', 'acknowledgement', 'handshake'] as const)) {
    case 'streams':
      return proxy.cutAfter('up', chance.between(1, 60_000))
    case 'acknowledgement':
      return proxy.cutAfter('down', chance.between(1, 50))
    case 'handshake': {
      const cut = proxy.cutAfter('down', chance.between(1, 500))
      proxy.cut()
      return cut
    }
  }
}

interface Silence {
  readonly name: string
  begin(): void
  /** Who hears nothing and has to notice it by the missing heartbeats. */
  readonly noticedBy: 'agent' | 'controlPlane'
}

const SILENCES: readonly Silence[] = [
  { name: 'what the agent says is lost', begin: () => proxy.forget('up'), noticedBy: 'controlPlane' },
  { name: 'what the control plane says is lost', begin: () => proxy.forget('down'), noticedBy: 'agent' },
  { name: 'only the agent believes in the connection', begin: () => proxy.halfOpen('agent'), noticedBy: 'agent' },
  {
    name: 'only the control plane believes in the connection',
    begin() {
      proxy.refuse(true)
      proxy.halfOpen('control plane')
    },
    noticedBy: 'controlPlane',
  },
  {
    name: 'nothing gets through upwards for any connection',
    begin() {
      proxy.refuse(true)
      proxy.flow('up', { kind: 'swallowed' })
    },
    noticedBy: 'controlPlane',
  },
]

describe('a connection on which one side receives nothing is closed by that side, and the job is exact', () => {
  test.each(SILENCES)('$name', async ({ begin, noticedBy }) => {
    const { jobId, truth } = await chaos.launchSynthetic({ steps: 300, gates: [2, 201] })
    await waitFor('the job to have begun', () => truth.written() > 0)
    const [before, losses] = [proxy.connections(), lossesOf(chaos.product[noticedBy])]
    begin()
    // It is silent from here on, and the job writes meanwhile.
    truth.openGate(2)
    await waitFor('the silence to be noticed', () => lossesOf(chaos.product[noticedBy]) > losses)
    if (noticedBy === 'controlPlane') {
      await waitFor('it to be shown', async () => {
        const runner = await runnerNamed(chaos, 'test-runner')
        // It may be back already by another connection where it may dial.
        return runner?.online === false || proxy.connections() > before
      })
    }
    mend()
    await waitFor('the agent to have dialled again', () => proxy.connections() > before)
    truth.openGate(201)
    await expectExactSuccess(jobId, truth)
  })
})

const FLAPPING = 'jobs are exact on a network that comes and goes'
test(
  FLAPPING,
  seeded(FILE, FLAPPING, async (chance) => {
    const [flaps, part] = [8, 250]
    const gates = Array.from({ length: flaps + 1 }, (_, index) => index * part + 2)
    const load = { steps: flaps * part + 2, outputBytes: 400, gates }
    const emitted = await Promise.all([1, 2].map((seed) => chaos.launchSynthetic({ ...load, seed })))
    const real = await launchReal(chaos.product)
    await real.truth.keep()
    for (const [flap, gate] of gates.slice(0, flaps).entries()) {
      // The two write more than this until their next gates.
      const carried = proxy.carried('up') + chance.between(1, 20_000)
      for (const { truth } of emitted) truth.openGate(gate)
      await waitFor('something to get through', () => proxy.carried('up') >= carried)
      await beDown(chance)
      if (flap === flaps / 2) real.truth.openGate()
    }
    for (const { jobId, truth } of emitted) {
      truth.openGate(flaps * part + 2)
      await expectExactSuccess(jobId, truth)
    }
    await expectExactSuccess(real.jobId, real.truth)
  }),
)

/** The network is away for a moment, in one of the ways in which networks are. */
async function beDown(chance: Chance): Promise<void> {
  const how = chance.pick(['blocked', 'cut', 'forgotten by the agent', 'forgotten by the control plane'] as const)
  proxy.hold(true)
  if (how === 'cut') proxy.cut()
  if (how === 'forgotten by the agent') proxy.halfOpen('control plane')
  if (how === 'forgotten by the control plane') proxy.halfOpen('agent')
  // A fault that lasts this long, no wait for anything.
  await pause(chance.between(50, 500))
  proxy.hold(false)
}

const SLOW = 'jobs are exact on a slow network'
test(
  SLOW,
  seeded(FILE, SLOW, async (chance) => {
    for (const direction of ['up', 'down'] as const) {
      proxy.flow(direction, { kind: 'delayed', milliseconds: chance.between(20, 150) })
    }
    const delayed = await chaos.launchSynthetic({ steps: 500, outputBytes: 1000 })
    await expectExactSuccess(delayed.jobId, delayed.truth)
    proxy.flow('down', { kind: 'throttled', bytesPerSecond: chance.between(1000, 5000) })
    proxy.flow('up', { kind: 'throttled', bytesPerSecond: chance.between(300_000, 900_000) })
    const throttled = await chaos.launchSynthetic({ steps: 500, outputBytes: 2000 })
    await expectExactSuccess(throttled.jobId, throttled.truth)
  }),
)

test('a runner that cannot be reached is shown offline, and its job as running, until it is back', async () => {
  const { jobId, truth } = await chaos.launchSynthetic({ gates: [100] })
  await waitFor('the job to have begun', () => truth.written() > 0)
  proxy.hold(true)
  await isOffline()
  expect(await chaos.product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running', status_reason: null })
  truth.openGate(100)
  await waitFor('the play to be over', () => truth.finished())
  expect(await chaos.product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running', status_reason: null })
  proxy.hold(false)
  await expectExactSuccess(jobId, truth)
})
