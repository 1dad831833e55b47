import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { type ChaosProduct, startChaos } from './chaos-product.js'
import { compareStored, expectExactly } from './stored.js'

/** The kit itself: a checker that cannot see a difference, or a fault that does not happen, would prove nothing. */
let chaos: ChaosProduct

afterEach(() => chaos.close())

describe('the fault kit', () => {
  test('an emitted job is exact, and the checker finds missing, doubled and different bytes', async () => {
    chaos = await startChaos()
    const { jobId, truth } = await chaos.launchSynthetic({ binary: true, unfinished: true })
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    const { outputBytes, events } = await expectExactly(chaos.product, jobId, truth)
    expect(outputBytes).toBeGreaterThan(200 * 80)
    expect(events).toBe(200)
    expect(truth.starts()).toBe(1)

    const changed = { ...truth, outputPath: `${truth.outputPath}.changed`, eventsPath: `${truth.eventsPath}.changed` }
    const [output, lines] = [readFileSync(truth.outputPath), readFileSync(truth.eventsPath)]
    const middle = output.subarray(0, 100)
    writeFileSync(changed.outputPath, output.subarray(0, -5))
    writeFileSync(changed.eventsPath, Buffer.concat([lines, Buffer.from('{}\n')]))
    expect(await compareStored(chaos.product, jobId, changed)).toMatchObject({ lost: 1, doubled: 5 })
    writeFileSync(changed.outputPath, Buffer.concat([Buffer.from('x'.repeat(100)), output.subarray(100)]))
    writeFileSync(changed.eventsPath, lines)
    expect(middle.includes('x'.repeat(100))).toBe(false)
    expect((await compareStored(chaos.product, jobId, changed)).wrong).toBeGreaterThan(0)
  })

  test('a rule kills exactly one process, before or after the call', async () => {
    chaos = await startChaos()
    const fault = chaos.faults.arm({
      operation: 'rename',
      program: 'holdfast-runner',
      path: '*/spool/jobs/*',
      action: 'kill-after',
      once: true,
    })
    const { jobId, truth } = await chaos.launchSynthetic()
    expect((await chaos.product.agent.exited).signal).toBe('SIGKILL')
    expect(fault.wasMet()).toBe(true)
    chaos.product.startAgent()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })

  test('the proxy cuts in the middle of a frame', async () => {
    chaos = await startChaos()
    const { jobId, truth } = await chaos.launchSynthetic({ steps: 400, outputBytes: 2000, gates: [200] })
    await waitFor(
      'half of it',
      async () => (await chaos.product.admin.raw(`/job/${jobId}/output?offset=0`)).bytes.length > 0,
    )
    const before = chaos.proxy.connections()
    const cut = chaos.proxy.cutAfter('up', 10_000)
    truth.openGate(200)
    await cut
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    expect(chaos.proxy.connections()).toBeGreaterThan(before)
    await expectExactly(chaos.product, jobId, truth)
  })
})
