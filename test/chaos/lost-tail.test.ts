import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { processesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { killPlaybook, spoolFolderOf } from './kit/leftovers.js'
import { expectExactly } from './kit/stored.js'

/** A power loss takes the end of what was written and not synced. What had been stored before is the only copy then. */
let chaos: ChaosProduct

afterEach(() => chaos.close())

const STEPS_BEFORE_GATE = 199
const LOAD = { steps: 400, outputBytes: 500, gates: [STEPS_BEFORE_GATE + 1] }

describe('a runner whose files lost their last bytes', () => {
  test('the stored bytes stay, and the job says so', async () => {
    chaos = await startChaos()
    const { product } = chaos
    const { jobId, truth } = await chaos.launchSynthetic(LOAD)
    await waitFor('everything before the gate to be stored', async () => {
      const { records } = await product.admin.get<{ records: unknown[] }>(`/job/${jobId}/events`)
      const { bytes } = await product.admin.raw(`/job/${jobId}/output?offset=0`)
      return records.length === STEPS_BEFORE_GATE && bytes.length === statSync(truth.outputPath).size
    })
    await product.agent.stop('SIGKILL')
    const folder = spoolFolderOf(product, jobId) ?? ''
    killPlaybook(product, jobId)
    await waitFor('the supervisor to be gone', () => processesOfFolder(folder).length === 0)
    // The events in the middle of a line.
    const lost = { output: 40_001, events: 7_003 }
    truncateSync(join(folder, 'output.log'), statSync(join(folder, 'output.log')).size - lost.output)
    truncateSync(join(folder, 'events.jsonl'), statSync(join(folder, 'events.jsonl')).size - lost.events)
    product.startAgent()
    expect(await product.waitForEnd(jobId)).toMatchObject({
      status: 'failed',
      status_reason: 'the supervisor of the playbook was ended',
      detail: `the runner lost its last ${lost.output} bytes of output and ${lost.events} of events, which had been stored here before`,
    })
    await expectExactly(product, jobId, truth)
    expect(truth.starts()).toBe(1)
  })
})
