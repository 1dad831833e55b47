import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Answer } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { dispatchOf, endRecordOf, findStopped, leftOf, spoolFolderOf, waitForStopped } from './kit/leftovers.js'
import { type Load, type SyntheticTruth, countLines } from './kit/load.js'
import type { FaultRule } from './kit/preload/faults.js'
import { seeded } from './kit/seed.js'
import { compareStored } from './kit/stored.js'

/** An abort at every moment of a job's life has one truthful end; nothing of the job is left, and it ran at most once. */
const STEPS = 20
/** It has written everything and waits before its end. */
const AT_ITS_END: Partial<Load> = { steps: STEPS, gates: [STEPS + 1] }

let chaos: ChaosProduct

interface Launched {
  readonly jobId: number
  readonly truth: SyntheticTruth
}

beforeAll(async () => {
  chaos = await startChaos({ controlPlane: { RTE_LOST_SECONDS: '600' } })
  // Nothing leaves the spool, so that what the supervisor wrote can be compared after the end.
  chaos.faults.arm({ operation: 'rename', path: '*/spool/trash/*', action: 'EIO', once: false })
})
afterAll(() => chaos.close())

const abort = (jobId: number): Promise<Answer> => chaos.product.admin.request('POST', `/job/${jobId}/abort`)

const isAtItsEnd = ({ truth }: Launched) =>
  waitFor('the job to have written everything', () => countLines(truth.eventsPath) === STEPS)

async function launchAtItsEnd(): Promise<Launched> {
  const launched = await chaos.launchSynthetic(AT_ITS_END)
  await isAtItsEnd(launched)
  return launched
}

async function askAbort(jobId: number): Promise<void> {
  expect((await abort(jobId)).status).toBe(200)
}

/** Its one end: nothing is left, it is exact, it was started at most once, and its status is what the runner says. */
async function endOf({ jobId, truth }: Launched): Promise<Record<string, unknown>> {
  const { product } = chaos
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

async function expectAborted(launched: Launched, reason = 'aborted by admin'): Promise<void> {
  expect(await endOf(launched)).toMatchObject({ status: 'aborted', status_reason: reason, abort_requested: true })
  expect(await abort(launched.jobId)).toMatchObject({ status: 409, body: { code: 'not_running' } })
}

describe('an abort before the start', () => {
  const BEFORE = 'aborted by admin before it started'

  test('of a job that waits for a slot ends it at once', async () => {
    const { admin } = chaos.product
    const [runner] = (await admin.get<{ records: { id: number }[] }>('/runner')).records
    const limit = (most: number | null) => admin.request('PUT', `/runner/${runner?.id}`, { max_jobs: most })
    await limit(1)
    const first = await launchAtItsEnd()
    const second = await chaos.launchSynthetic()
    await waitFor('it to say that it waits', async () =>
      (await admin.raw(`/job/${second.jobId}/output?offset=0`)).bytes.includes('Waiting for a free slot'),
    )
    await askAbort(second.jobId)
    expect(await admin.get(`/job/${second.jobId}`)).toMatchObject({ status: 'aborted', status_reason: BEFORE })
    first.truth.openGate(STEPS + 1)
    expect(await endOf(first)).toMatchObject({ status: 'success', detail: null, abort_requested: false })
    await limit(null)
    await expectAborted(second, BEFORE)
    expect(second.truth.starts()).toBe(0)
  })

  test('of a job whose offer is on its way names who asked', async () => {
    chaos.proxy.flow('down', { kind: 'stopped' })
    const job = await chaos.launchSynthetic()
    await waitFor('it to be offered', async () => (await dispatchOf(chaos.product, job.jobId)) === 'offered')
    await askAbort(job.jobId)
    expect(await abort(job.jobId)).toMatchObject({ status: 409, body: { code: 'abort_pending' } })
    chaos.proxy.flow('down', { kind: 'open' })
    expect(await endOf(job)).toMatchObject({ status: 'aborted', abort_requested: true })
    const { status_reason: reason } = await chaos.product.admin.get(`/job/${job.jobId}`)
    expect([BEFORE, 'aborted by admin']).toContain(reason)
  })

  test('of a job whose files are under way gives them up', async () => {
    const { product, proxy } = chaos
    writeFileSync(join(product.folder, 'persistent/playbooks/large.bin'), randomBytes(4 * 1024 * 1024))
    proxy.flow('down', { kind: 'throttled', bytesPerSecond: 1024 * 1024 })
    const job = await chaos.launchSynthetic()
    const staged = () => readdirSync(join(product.folder, 'rte-state/spool/staging')).length
    await waitFor('its files to be fetched', () => staged() > 0)
    await askAbort(job.jobId)
    await expectAborted(job, BEFORE)
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
  const [AGENT, SUPERVISOR] = ['holdfast-runner', 'supervisor.py']
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
      rule: { operation: 'open', program: SUPERVISOR, path: '*/started.json', action: 'stop-before' },
      noted: true,
      starts: 0,
    },
    'while the supervisor stands still before it looks for an abort': {
      rule: { operation: 'open', program: SUPERVISOR, path: '*/output.log', action: 'stop-before' },
      noted: true,
      starts: 0,
    },
    'while the supervisor stands still right after the spawn': {
      rule: { operation: 'open', program: SUPERVISOR, path: '*/reserve', action: 'stop-before' },
      noted: true,
      starts: 1,
    },
  }

  test.each(Object.entries(MOMENTS))('%s', async (_name, { rule, noted, starts }) => {
    const { product, faults } = chaos
    faults.arm({ ...rule, once: true })
    const job = await chaos.launchSynthetic(AT_ITS_END)
    const goOn = await waitForStopped(product)
    await askAbort(job.jobId)
    if (noted) {
      const mark = join(spoolFolderOf(product, job.jobId) ?? '', 'abort.json')
      await waitFor('the agent to note the abort', () => existsSync(mark))
    }
    goOn()
    await expectAborted(job)
    expect(job.truth.starts()).toBeLessThanOrEqual(starts)
  })

  test('a start that is half written for long is still the start of this job, and nothing runs behind its end', async () => {
    const { product, faults } = chaos
    const rule = { operation: 'open', program: SUPERVISOR, path: '*/started.json', action: 'stop-after' } as const
    faults.arm({ ...rule, once: true })
    const job = await chaos.launchSynthetic(AT_ITS_END)
    const goOn = await waitForStopped(product)
    await askAbort(job.jobId)
    // Longer than the agent waits for a start that it cannot read, by the agent's own reports.
    const lastSeen = async () => {
      const { records } = await product.admin.get<{ records: { last_seen: string }[] }>('/runner')
      return Date.parse(records[0]?.last_seen ?? '')
    }
    const since = await lastSeen()
    await waitFor('the agent to have looked for seven seconds', async () => (await lastSeen()) > since + 7000)
    expect((await product.admin.get(`/job/${job.jobId}`)).status).toBe('running')
    goOn()
    await expectAborted(job)
    expect(job.truth.starts()).toBe(0)
  })

  test('a half written start that an agent finds again is ended before the job is called lost', async () => {
    const { product, faults } = chaos
    const rule = { operation: 'open', program: SUPERVISOR, path: '*/started.json', action: 'stop-after' } as const
    faults.arm({ ...rule, once: true })
    const job = await chaos.launchSynthetic(AT_ITS_END)
    await waitForStopped(product)
    await product.agent.stop('SIGKILL')
    product.startAgent()
    expect(await endOf(job)).toMatchObject({ status: 'failed' })
    expect(findStopped(product)).toBeNull()
    expect(job.truth.starts()).toBe(0)
  })
})

describe('an abort at the end', () => {
  const name = 'at the moment of exit, again and again: the job says what it was'
  test(
    name,
    seeded('test/chaos/abort-races.test.ts', name, async (chance) => {
      const { product } = chaos
      for (let wave = 0; wave < 3; wave += 1) {
        const delays = Array.from({ length: 10 }, () => chance.between(-30, 400))
        const jobs = await Promise.all(delays.map(() => launchAtItsEnd()))
        const answers = await Promise.all(
          jobs.map(async ({ jobId, truth }, index) => {
            const delay = delays[index] ?? 0
            const opening = pause(Math.max(0, -delay)).then(() => truth.openGate(STEPS + 1))
            await pause(Math.max(0, delay))
            const answer = await abort(jobId)
            await opening
            return answer
          }),
        )
        for (const [index, job] of jobs.entries()) {
          const end = await endOf(job)
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

  test('of a job that has ended while its runner was away changes nothing, and is told', async () => {
    const { product, proxy } = chaos
    const job = await launchAtItsEnd()
    proxy.hold(true)
    proxy.cut()
    job.truth.openGate(STEPS + 1)
    await waitFor('its end on the runner', () => endRecordOf(product, job.jobId))
    await askAbort(job.jobId)
    expect(await abort(job.jobId)).toMatchObject({ status: 409, body: { code: 'abort_pending' } })
    proxy.hold(false)
    expect(await endOf(job)).toMatchObject({
      status: 'success',
      status_reason: null,
      abort_requested: true,
      detail: 'admin asked for an abort when the playbook had already ended',
    })
  })
})

describe('an abort while somebody is away', () => {
  test('reaches a runner that was disconnected when it is back', async () => {
    const { product, proxy } = chaos
    const job = await launchAtItsEnd()
    proxy.hold(true)
    proxy.cut()
    await askAbort(job.jobId)
    expect(await product.admin.get(`/job/${job.jobId}`)).toMatchObject({ status: 'running', abort_requested: true })
    expect(await leftOf(product, job.jobId, job.truth.name)).not.toEqual([])
    proxy.hold(false)
    await expectAborted(job)
  })

  test('reaches an agent that was dead after its restart', async () => {
    const { product } = chaos
    const job = await launchAtItsEnd()
    await product.agent.stop('SIGKILL')
    await askAbort(job.jobId)
    product.startAgent()
    await expectAborted(job)
    await product.waitForRunner()
  })

  test('is not forgotten by a control plane that is killed right after it was stored', async () => {
    const { product, proxy } = chaos
    const job = await launchAtItsEnd()
    proxy.flow('down', { kind: 'stopped' })
    await askAbort(job.jobId)
    await product.controlPlane.stop('SIGKILL')
    proxy.flow('down', { kind: 'open' })
    await product.startControlPlane()
    await expectAborted(job)
  })

  test('during the drain of the agent ends the job, and the agent ends then', async () => {
    const { product } = chaos
    const job = await launchAtItsEnd()
    const stopping = product.agent.stop('SIGTERM')
    await waitFor('the agent to drain', async () => {
      const { records } = await product.admin.get<{ records: { draining: boolean }[] }>('/runner')
      return records[0]?.draining
    })
    await askAbort(job.jobId)
    await expectAborted(job)
    await stopping
    expect(await product.agent.exited).toEqual({ code: 0, signal: null })
    product.startAgent()
    await product.waitForRunner()
  })
})
