import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keepWritten, keptOf } from '../support/exactness.js'
import { shownOutput } from '../support/shown-output.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import type { FaultRule } from './kit/preload/faults.js'
import { REAL_JOBS, type RealTruth, launchReal } from './kit/real-job.js'
import { killSupervisors } from './kit/leftovers.js'
import { expectExactly } from './kit/stored.js'

/**
 * A full disk: nothing is acknowledged falsely, the end gets through, what was lost is
 * said, and what is stored is what is in the files. Files that are torn and syncs that fail are in disk-syncs.
 */
let chaos: ChaosProduct

beforeEach(async () => {
  chaos = await startChaos(REAL_JOBS)
})
afterEach(() => chaos.close())

const fail = (operation: FaultRule['operation'], path: string, action: FaultRule['action'], once = false) =>
  chaos.faults.arm({ operation, path, action, once })

/** A real job at its first gate; its files are kept when the agent removes them. */
async function launchAtGate(gates: 2 | 3 = 2): Promise<{ readonly jobId: number; readonly truth: RealTruth }> {
  const { jobId, truth } = await launchReal(chaos.product, { gates })
  await truth.keep()
  await waitFor('the playbook to be at its first gate', () => truth.isAtGate(1))
  return { jobId, truth }
}

const noticesIn = (path: string): string[] =>
  shownOutput(readFileSync(path))
    .toString('utf8')
    .split('\n')
    .filter((line) => line.startsWith('[holdfast]'))

/** How much of the written bytes is missing in a file that holds their beginning, a notice in a line of its own, and their end. */
function bytesLost(writtenPath: string, keptPath: string): number {
  const [written, kept] = [readFileSync(writtenPath), readFileSync(keptPath)]
  const noticeAt = kept.indexOf('[holdfast]')
  const after = kept.subarray(kept.indexOf('\n', noticeAt) + 1)
  const isBeginning = (bytes: Buffer): boolean => written.subarray(0, bytes.length).equals(bytes)
  // The notice ends a line that was left unfinished.
  const before = [kept.subarray(0, noticeAt), kept.subarray(0, noticeAt - 1)].find(isBeginning)
  if (!before || !written.subarray(written.length - after.length).equals(after)) throw new Error('other bytes are kept')
  return written.length - before.length - after.length
}

describe('a spool disk that is full', () => {
  test('while jobs run loses only the output of that time, and the loss is counted and marked', async () => {
    const real = await launchAtGate(3)
    const emitted = await chaos.launchSynthetic({ steps: 300, outputBytes: 500, eventBytes: 0, gates: [100, 200] })
    await keepWritten(chaos.product, emitted.jobId)
    await waitFor('the emitter to be at its gate', () => emitted.truth.waitsAt(100))
    const full = [fail('write', '*/output.log', 'ENOSPC'), fail('write', '*/events.jsonl', 'ENOSPC')]
    real.truth.openGate(1)
    emitted.truth.openGate(100)
    await waitFor('both to have printed more', () => real.truth.isAtGate(2) && emitted.truth.waitsAt(200))
    for (const fault of full) fault.disarm()
    real.truth.openGate(2)
    emitted.truth.openGate(200)
    // A disk is tried again a moment after it was full. What the third part prints may come before that.
    await waitFor('the next part', () => real.truth.isAtGate(3))
    real.truth.openGate(3)

    const ended = await chaos.product.waitForEnd(real.jobId)
    expect(ended.status).toBe('success')
    expect(ended.detail).toMatch(/^[1-9]\d* structured events were lost on the runner; [1-9]\d* bytes of output were/)
    const notice = /^\[holdfast\] [1-9]\d* bytes of output lost: No space left on device$/
    const notices = noticesIn(real.truth.outputPath)
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(notice)
    expect(ended.output).toContain('part 1 item 9')
    expect(ended.output).not.toContain('part 2 item 5')
    expect(ended.output).toContain('part 4 item 9')
    await expectExactly(chaos.product, real.jobId, real.truth)
    expect(real.truth.starts()).toBe(1)

    const { outputPath, eventsPath } = keptOf(chaos.product, emitted.jobId)
    const job = await chaos.product.waitForEnd(emitted.jobId)
    expect(noticesIn(outputPath)).toHaveLength(1)
    const lost = bytesLost(emitted.truth.outputPath, outputPath)
    expect(lost).toBeGreaterThan(0)
    expect(job).toMatchObject({ status: 'success', detail: `${lost} bytes of output were not kept` })
    await expectExactly(chaos.product, emitted.jobId, { ...emitted.truth, outputPath, eventsPath })
    // Whoever looks after the host reads it in the log of the agent, and in a metric.
    const warnings = chaos.product.agent.said().match(/^.*"output_bytes_lost":.*$/gm) ?? []
    const warning = { level: 'warn', job: emitted.jobId, output_bytes_lost: lost, events_lost: 0 }
    expect(warnings.map((line) => JSON.parse(line) as object)).toContainEqual(expect.objectContaining(warning))
    expect(warnings).toHaveLength(2)
    const [, probes = ''] =
      /"address":"([^"]+)","msg":"probes are answered here"/.exec(chaos.product.agent.said()) ?? []
    const metrics = await (await fetch(`${probes}/metrics`)).text()
    expect(metrics).toMatch(/^holdfast_rte_incomplete_jobs_total 2$/m)
  })

  test('from the middle of a job until after its end: the end is stored because of its reserve', async () => {
    const { jobId, truth } = await launchAtGate()
    // Everything but the reserve, whose blocks are there already.
    const paths = ['*/spool/jobs/*.log', '*/spool/jobs/*.jsonl', '*/spool/jobs/*.json', '*/spool/jobs/*.new']
    for (const path of [...paths, '*/spool/jobs/*.tmp', '*/spool/staging/*']) fail('write', path, 'ENOSPC')
    truth.openGate(1)
    truth.openGate(2)
    const job = await chaos.product.waitForEnd(jobId)
    expect(job.status).toBe('success')
    expect(job.detail).toMatch(/[1-9]\d* bytes of output were not kept/)
    await expectExactly(chaos.product, jobId, truth)

    // A new job waits for room, and needs nobody to tell it that there is some.
    const waiting = await chaos.launchSynthetic()
    await waitFor('it to be refused', () => chaos.product.agent.said().includes('"code":"spool_full"'))
    expect(await chaos.product.admin.get(`/job/${waiting.jobId}`)).toMatchObject({ status: 'running' })
    expect(existsSync(waiting.truth.outputPath)).toBe(false)
    chaos.faults.disarmAll()
    expect(await chaos.product.waitForEnd(waiting.jobId)).toMatchObject({ status: 'success', detail: null })
    await expectExactly(chaos.product, waiting.jobId, waiting.truth)
    expect(waiting.truth.starts()).toBe(1)
  })
})

test('a spool disk that takes no end any more: the end is in a second place, also when the supervisor goes', async () => {
  const { product } = chaos
  const { jobId, truth } = await launchAtGate()
  const second = join(product.folder, 'run')
  fail('rename', '*/end.json', 'EROFS')
  fail('rename', '*/exit.json', 'EROFS')
  await product.agent.stop('SIGKILL')
  truth.openGate(1)
  truth.openGate(2)
  const ends = (): string[] =>
    existsSync(second) ? readdirSync(second).filter((name) => name.endsWith('end.json')) : []
  await waitFor('the end to be in the second place', () => ends().length === 1)
  killSupervisors(product, jobId)

  product.startAgent()
  expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null })
  await expectExactly(product, jobId, truth)
  chaos.faults.disarmAll()
  await waitFor('nothing of the job to be left', () => ends().length === 0)
})
