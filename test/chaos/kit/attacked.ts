import { expect } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { type ChaosProduct, startChaos } from './chaos-product.js'
import { type HostileRunner, highWaterMiB, joinHostile } from './hostile.js'
import { runIdOf } from './leftovers.js'
import type { SyntheticTruth } from './load.js'
import { expectExactly } from './stored.js'

/** Far more than the attacks need when they are bounded, far less than any of them takes when it is not. */
const MAX_GROWTH_MIB = 350
/** The good job prints while the attacks go on, and the last of it only after them. */
const STEPS = 2500
const AFTER_ALL = 2400

const FORM = `name: hostile
type: ansible
roles: [default]
playbook: synthetic.yml
runner: hostile
inventory: localhost,
fields: []
`

/** A control plane with a good runner that runs a job, and an approved hostile one. */
export interface AttackedProduct extends ChaosProduct {
  readonly hostile: HostileRunner
  readonly good: { readonly jobId: number; readonly runId: string; readonly truth: SyntheticTruth }
  /** Nobody else was harmed: the good runner is on its first connection, its job runs, REST answers, memory is bounded. */
  expectUnharmed(): Promise<void>
  /** The good job is exact, over the connection that it began with. To be called last. @returns what memory was taken */
  expectExactAfterAll(): Promise<string>
}

export async function startAttacked(): Promise<AttackedProduct> {
  const chaos = await startChaos({
    forms: { 'hostile.yml': FORM },
    // A good runner that gives up would be one that the control plane left alone for long, on any machine.
    controlPlane: { RTE_HEARTBEAT_SECONDS: '20' },
  })
  const { product, proxy } = chaos
  const job = await chaos.launchSynthetic({ steps: STEPS, perSecond: 100, gates: [AFTER_ALL] })
  const good = { ...job, runId: await runIdOf(product, job.jobId) }
  await waitFor('the good job to run', () => good.truth.starts() === 1)
  const hostile = await joinHostile(product, 'hostile', 'hostile')
  const startMiB = highWaterMiB(product.controlPlane.pid)

  async function expectUnharmed(): Promise<void> {
    expect(product.controlPlane.isRunning()).toBe(true)
    expect(await product.admin.get(`/job/${good.jobId}`)).toMatchObject({ status: 'running' })
    expect(proxy.connections()).toBe(1)
    expect(highWaterMiB(product.controlPlane.pid) - startMiB).toBeLessThan(MAX_GROWTH_MIB)
  }

  return {
    ...chaos,
    hostile,
    good,
    expectUnharmed,
    async expectExactAfterAll() {
      await expectUnharmed()
      good.truth.openGate(AFTER_ALL)
      expect(await product.waitForEnd(good.jobId)).toMatchObject({ status: 'success', status_reason: null })
      await expectExactly(product, good.jobId, good.truth)
      expect(good.truth.starts()).toBe(1)
      expect(proxy.connections()).toBe(1)
      const endMiB = highWaterMiB(product.controlPlane.pid)
      return `VmHWM of the control plane: ${startMiB.toFixed(0)} MiB before, ${endMiB.toFixed(0)} after`
    },
  }
}
