import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ChaosProduct, startChaos } from '../chaos/kit/chaos-product.js'
import { waitFor } from '../support/wait.js'

/** An honest runner whose playbook makes more events than the control plane keeps. */
let chaos: ChaosProduct

beforeAll(async () => {
  chaos = await startChaos({ controlPlane: { JOB_EVENTS_MAX: '300' } })
})
afterAll(() => chaos.close())

test('it ends its job over one connection, with all of its output, and forgets it', async () => {
  const { product, proxy } = chaos
  const { jobId, truth } = await chaos.launchSynthetic({ steps: 3000, eventBytes: 2000, outputBytes: 20 })
  const job = await product.waitForEnd(jobId)
  expect(job).toMatchObject({ status: 'success', status_reason: null })
  expect(String(job.detail)).toMatch(
    /^the runner sent more events than is kept: the first \d+ of \d+ bytes are stored$/,
  )
  expect(await product.admin.get(`/job/${jobId}/events?limit=2000`)).toMatchObject({ count: 300 })
  expect(truth.starts()).toBe(1)
  await waitFor('the runner to forget it', async () => {
    const { records } = await product.admin.get<{ records: { spool_bytes: number }[] }>('/runner')
    return records[0]?.spool_bytes === 0
  })
  expect(proxy.connections()).toBe(1)
})
