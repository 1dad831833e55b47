import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { countLines } from '../../support/gated-playbook.js'
import type { Answer } from '../../support/rest.js'
import { waitFor } from '../../support/wait.js'
import { type ChaosProduct, startChaos } from './chaos-product.js'
import { endRecordOf, leftOf, spoolFolderOf } from './leftovers.js'
import type { Load, SyntheticTruth } from './load.js'
import { compareStored } from './stored.js'

/** Steps of a job that is to be aborted. */
export const STEPS = 20
/** It has written everything and waits before its end. */
export const AT_ITS_END: Partial<Load> = { steps: STEPS, gates: [STEPS + 1] }

export interface Launched {
  readonly jobId: number
  readonly truth: SyntheticTruth
}

/** A product whose jobs are aborted at bad moments. */
export interface AbortedProduct extends ChaosProduct {
  launchAtItsEnd(): Promise<Launched>
  abort(jobId: number): Promise<Answer>
  /** Aborts a job that can be aborted. */
  askAbort(jobId: number): Promise<void>
  /** Its one end: nothing is left, it is exact, it was started at most once, and its status is what the runner says. */
  endOf(launched: Launched): Promise<Record<string, unknown>>
  expectAborted(launched: Launched, reason?: string): Promise<void>
}

export async function startForAborts(): Promise<AbortedProduct> {
  const chaos = await startChaos({ controlPlane: { RTE_LOST_SECONDS: '600' } })
  const { product } = chaos
  // Nothing leaves the spool, so that what the supervisor wrote can be compared after the end.
  for (const place of ['trash', 'kept']) {
    chaos.faults.arm({ operation: 'rename', path: `*/spool/${place}/*`, action: 'EIO', once: false })
  }

  const abort = (jobId: number): Promise<Answer> => product.admin.request('POST', `/job/${jobId}/abort`)

  async function endOf({ jobId, truth }: Launched): Promise<Record<string, unknown>> {
    const job = await product.waitForEnd(jobId)
    expect(await leftOf(product, jobId, truth.name)).toEqual([])
    expect(truth.starts()).toBeLessThanOrEqual(1)
    const folder = spoolFolderOf(product, jobId)
    if (folder === null) {
      expect(truth.starts()).toBe(0)
      return job
    }
    const record = endRecordOf(product, jobId)
    const outcome = record.cause === 'aborted' ? 'aborted' : record.exit_code === 0 ? 'success' : 'failed'
    expect(job.status).toBe(outcome)
    const files = { outputPath: join(folder, 'output.log'), eventsPath: join(folder, 'events.jsonl') }
    // An end before the start has no streams.
    for (const path of Object.values(files)) if (!existsSync(path)) writeFileSync(path, '')
    expect((await compareStored(product, jobId, { ...truth, ...files })).problems).toEqual([])
    return job
  }

  return {
    ...chaos,
    abort,
    endOf,
    async launchAtItsEnd() {
      const launched = await chaos.launchSynthetic(AT_ITS_END)
      await waitFor(
        'the job to have written everything',
        () => countLines(launched.truth.eventsPath) === STEPS && launched.truth.waitsAt(STEPS + 1),
      )
      return launched
    },
    async askAbort(jobId) {
      expect((await abort(jobId)).status).toBe(200)
    },
    async expectAborted(launched, reason = 'aborted by admin') {
      expect(await endOf(launched)).toMatchObject({ status: 'aborted', status_reason: reason, abort_requested: true })
      expect(await abort(launched.jobId)).toMatchObject({ status: 409, body: { code: 'not_running' } })
    },
  }
}
