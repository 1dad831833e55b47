import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { type AbortedProduct, STEPS, startForAborts } from './kit/aborts.js'
import { endRecordOf, leftOf } from './kit/leftovers.js'
import { seeded } from './kit/seed.js'
import { compareStored } from './kit/stored.js'

/** An abort of a job that runs, ends, or whose runner is away, has one truthful end, and nothing of the job is left. */
let chaos: AbortedProduct

beforeAll(async () => {
  chaos = await startForAborts()
})
afterAll(() => chaos.close())

describe('an abort at the end', () => {
  const name = 'at the moment of exit, again and again: the job says what it was'
  test(
    name,
    seeded('test/chaos/abort-races.test.ts', name, async (chance) => {
      const { product } = chaos
      for (let wave = 0; wave < 3; wave += 1) {
        const delays = Array.from({ length: 10 }, () => chance.between(-30, 400))
        const jobs = await Promise.all(delays.map(() => chaos.launchAtItsEnd()))
        const answers = await Promise.all(
          jobs.map(async ({ jobId, truth }, index) => {
            const delay = delays[index] ?? 0
            const opening = pause(Math.max(0, -delay)).then(() => truth.openGate(STEPS + 1))
            await pause(Math.max(0, delay))
            const answer = await chaos.abort(jobId)
            await opening
            return answer
          }),
        )
        for (const [index, job] of jobs.entries()) {
          const end = await chaos.endOf(job)
          const asked = answers[index]?.status === 200
          if (!asked) expect(answers[index]).toMatchObject({ status: 409, body: { code: 'not_running' } })
          expect(end.abort_requested).toBe(asked)
          expect(job.truth.starts()).toBe(1)
          if (end.status === 'success') {
            expect(end.status_reason).toBeNull()
            expect(end.detail).toBe(asked ? 'admin asked for an abort when the playbook had already ended' : null)
            expect((await compareStored(product, job.jobId, job.truth)).problems).toEqual([])
          } else {
            expect(end).toMatchObject({ status: 'aborted', status_reason: 'aborted by admin' })
            expect(asked).toBe(true)
          }
        }
      }
    }),
  )

  test('of a job that has ended while its runner was away changes nothing, and the job mentions it', async () => {
    const { product, proxy } = chaos
    const job = await chaos.launchAtItsEnd()
    proxy.hold(true)
    proxy.cut()
    job.truth.openGate(STEPS + 1)
    await waitFor('its end on the runner', () => endRecordOf(product, job.jobId))
    await chaos.askAbort(job.jobId)
    expect(await chaos.abort(job.jobId)).toMatchObject({ status: 409, body: { code: 'abort_pending' } })
    proxy.hold(false)
    expect(await chaos.endOf(job)).toMatchObject({
      status: 'success',
      status_reason: null,
      abort_requested: true,
      detail: 'admin asked for an abort when the playbook had already ended',
    })
  })
})

describe('an abort while a program is away', () => {
  test('reaches a disconnected runner when it is back', async () => {
    const { product, proxy } = chaos
    const job = await chaos.launchAtItsEnd()
    proxy.hold(true)
    proxy.cut()
    await chaos.askAbort(job.jobId)
    expect(await product.admin.get(`/job/${job.jobId}`)).toMatchObject({ status: 'running', abort_requested: true })
    expect(await leftOf(product, job.jobId, job.truth.name)).not.toEqual([])
    proxy.hold(false)
    await chaos.expectAborted(job)
  })

  test('reaches a dead agent after its restart', async () => {
    const { product } = chaos
    const job = await chaos.launchAtItsEnd()
    await product.agent.stop('SIGKILL')
    await chaos.askAbort(job.jobId)
    product.startAgent()
    await chaos.expectAborted(job)
    await product.waitForRunner()
  })

  test('is not forgotten by a control plane that is killed right after it was stored', async () => {
    const { product, proxy } = chaos
    const job = await chaos.launchAtItsEnd()
    proxy.flow('down', { kind: 'stopped' })
    await chaos.askAbort(job.jobId)
    await product.controlPlane.stop('SIGKILL')
    proxy.flow('down', { kind: 'open' })
    await product.startControlPlane()
    await chaos.expectAborted(job)
  })

  test('during the drain of the agent ends the job, and then the agent ends', async () => {
    const { product } = chaos
    const job = await chaos.launchAtItsEnd()
    const stopping = product.agent.stop('SIGTERM')
    await waitFor('the agent to drain', async () => {
      const { records } = await product.admin.get<{ records: { draining: boolean }[] }>('/runner')
      return records[0]?.draining
    })
    await chaos.askAbort(job.jobId)
    await chaos.expectAborted(job)
    await stopping
    expect(await product.agent.exited).toEqual({ code: 0, signal: null })
    product.startAgent()
    await product.waitForRunner()
  })
})
