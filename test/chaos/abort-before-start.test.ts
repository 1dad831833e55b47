import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { AT_ITS_END, type AbortedProduct, STEPS, startForAborts } from './kit/aborts.js'
import { dispatchOf, spoolFolderOf, waitForStopped } from './kit/leftovers.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'

/** An abort before a job runs has one truthful end, nothing of the job is left, and it ran at most once. */
let chaos: AbortedProduct

beforeAll(async () => {
  chaos = await startForAborts()
})
afterAll(() => chaos.close())

describe('an abort before the start', () => {
  const BEFORE = 'aborted by admin before it started'

  test('of a job that waits for a slot ends it at once', async () => {
    const { admin } = chaos.product
    const [runner] = (await admin.get<{ records: { id: number }[] }>('/runner')).records
    const limit = (most: number | null) => admin.request('PUT', `/runner/${runner?.id}`, { max_jobs: most })
    await limit(1)
    const first = await chaos.launchAtItsEnd()
    const second = await chaos.launchSynthetic()
    await waitFor('it to say that it waits', async () =>
      (await admin.raw(`/job/${second.jobId}/output?offset=0`)).bytes.includes('Waiting for a free slot'),
    )
    await chaos.askAbort(second.jobId)
    expect(await admin.get(`/job/${second.jobId}`)).toMatchObject({ status: 'aborted', status_reason: BEFORE })
    first.truth.openGate(STEPS + 1)
    expect(await chaos.endOf(first)).toMatchObject({ status: 'success', detail: null, abort_requested: false })
    await limit(null)
    await chaos.expectAborted(second, BEFORE)
    expect(second.truth.starts()).toBe(0)
  })

  test('of a job whose offer is on its way names the user who asked', async () => {
    chaos.proxy.flow('down', { kind: 'stopped' })
    const job = await chaos.launchSynthetic()
    await waitFor('it to be offered', async () => (await dispatchOf(chaos.product, job.jobId)) === 'offered')
    await chaos.askAbort(job.jobId)
    expect(await chaos.abort(job.jobId)).toMatchObject({ status: 409, body: { code: 'abort_pending' } })
    chaos.proxy.flow('down', { kind: 'open' })
    expect(await chaos.endOf(job)).toMatchObject({ status: 'aborted', abort_requested: true })
    const { status_reason: reason } = await chaos.product.admin.get(`/job/${job.jobId}`)
    expect([BEFORE, 'aborted by admin']).toContain(reason)
  })

  test('of a job whose files are being sent stops the sending', async () => {
    const { product, proxy } = chaos
    writeFileSync(join(product.folder, 'persistent/playbooks/large.bin'), randomBytes(4 * 1024 * 1024))
    proxy.flow('down', { kind: 'throttled', bytesPerSecond: 1024 * 1024 })
    const job = await chaos.launchSynthetic()
    const staged = () => readdirSync(join(product.folder, 'rte-state/spool/staging')).length
    await waitFor('its files to be fetched', () => staged() > 0)
    await chaos.askAbort(job.jobId)
    await chaos.expectAborted(job, BEFORE)
    proxy.flow('down', { kind: 'open' })
    await waitFor('the agent to give it up', () => staged() === 0)
    expect(job.truth.starts()).toBe(0)
  })
})

describe('an abort between claim and spawn', () => {
  interface Moment {
    readonly rule: Omit<FaultRule, 'once'>
    /** True: the agent is there to note the abort in the job's folder. */
    readonly noted: boolean
    readonly starts: number
  }
  const { agent: AGENT, supervisor: SUPERVISOR } = PROGRAMS
  const MOMENTS: Readonly<Record<string, Moment>> = {
    'while the agent stands still right after the claim': {
      rule: { operation: 'rename', program: AGENT, path: '*/spool/jobs/*', action: 'stop-after' },
      noted: false,
      starts: 1,
    },
    'while the agent stands still before it starts the supervisor': {
      rule: { operation: 'rename', program: AGENT, path: '*/supervisor.json', action: 'stop-before' },
      noted: false,
      starts: 1,
    },
    'while the supervisor stands still before it takes the start': {
      rule: { operation: 'link', program: SUPERVISOR, path: '*/started.json', action: 'stop-before' },
      noted: true,
      starts: 0,
    },
    'while the supervisor stands still before it looks for an abort': {
      rule: { operation: 'open-write', program: SUPERVISOR, path: '*/output.log', action: 'stop-before' },
      noted: true,
      starts: 0,
    },
    'while the supervisor stands still right after the spawn': {
      rule: { operation: 'open-write', program: SUPERVISOR, path: '*/reserve', action: 'stop-before' },
      noted: true,
      starts: 1,
    },
  }

  test.each(Object.entries(MOMENTS))('%s', async (_name, { rule, noted, starts }) => {
    const { product, faults } = chaos
    faults.arm({ ...rule, once: true })
    const job = await chaos.launchSynthetic(AT_ITS_END)
    const goOn = await waitForStopped(product)
    await chaos.askAbort(job.jobId)
    if (noted) {
      const mark = join(spoolFolderOf(product, job.jobId) ?? '', 'abort.json')
      await waitFor('the agent to note the abort', () => existsSync(mark))
    }
    goOn()
    await chaos.expectAborted(job)
    expect(job.truth.starts()).toBeLessThanOrEqual(starts)
  })

  test('a start whose file is incomplete for a long time is still the start of this job, and nothing runs after its end', async () => {
    const { product, faults } = chaos
    const path = '*/started-*.tmp'
    const rule = { operation: 'open-write', program: SUPERVISOR, path, action: 'stop-after' } as const
    faults.arm({ ...rule, once: true })
    const job = await chaos.launchSynthetic(AT_ITS_END)
    const goOn = await waitForStopped(product)
    await chaos.askAbort(job.jobId)
    // Longer than the agent waits for a start that it cannot read, by the agent's own reports.
    const lastSeen = async () => {
      const { records } = await product.admin.get<{ records: { last_seen: string }[] }>('/runner')
      return Date.parse(records[0]?.last_seen ?? '')
    }
    const since = await lastSeen()
    await waitFor('the agent to have looked for seven seconds', async () => (await lastSeen()) > since + 7000)
    expect((await product.admin.get(`/job/${job.jobId}`)).status).toBe('running')
    goOn()
    await chaos.expectAborted(job)
    expect(job.truth.starts()).toBe(0)
  })
})
