import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { keepWritten } from '../support/exactness.js'
import { countStarts, openGate } from '../support/gated-playbook.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { PARTED_FORM, isAtGate, partedPlaybook } from './kit/parted-playbook.js'
import type { Truth } from './kit/load.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'
import { expectExactly } from './kit/stored.js'

/**
 * Point 10 of spec runner.md section 4: on a disk that is full, torn or cannot be synced nothing is acknowledged falsely,
 * the end gets through, what was lost is said, and what is stored is what is in the files.
 */
let chaos: ChaosProduct
let gates: string

beforeEach(async () => {
  gates = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  chaos = await startChaos({
    forms: { 'parted.yml': PARTED_FORM },
    playbooks: { 'parted.yml': partedPlaybook(gates) },
  })
})

afterEach(async () => {
  await chaos.close()
  rmSync(gates, { recursive: true, force: true })
})

const fail = (operation: FaultRule['operation'], path: string, action: FaultRule['action'], once = false) =>
  chaos.faults.arm({ operation, path, action, once })

/** The files of a real job, kept when the agent removes them. */
async function launchParted(): Promise<{ readonly jobId: number; readonly truth: Truth }> {
  const jobId = await chaos.product.launch('parted')
  await keepWritten(chaos.product, jobId)
  await waitFor('the playbook to be at its first gate', () => isAtGate(gates, 1))
  return { jobId, truth: { ...keptOf(jobId), starts: () => countStarts(gates) } }
}

/** Where `keepWritten` keeps the streams of a job. */
const keptOf = (jobId: number): { readonly outputPath: string; readonly eventsPath: string } => {
  const folder = join(chaos.product.folder, `kept-${jobId}`)
  return { outputPath: join(folder, 'output.log'), eventsPath: join(folder, 'events.jsonl') }
}

function folderOf(jobId: number): string {
  const jobs = join(chaos.product.folder, 'rte-state/spool/jobs')
  const name = readdirSync(jobs).find((folder) => folder.startsWith(`${jobId}-`))
  if (name === undefined) throw new Error(`job ${jobId} is not in the spool`)
  return join(jobs, name)
}

const isEnded = (jobId: number): boolean => existsSync(join(folderOf(jobId), 'end.json'))

const noticesIn = (path: string): string[] =>
  readFileSync(path, 'utf8')
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
  test('while jobs run costs what was printed meanwhile, counted and marked, and nothing else', async () => {
    const real = await launchParted()
    const emitted = await chaos.launchSynthetic({ steps: 300, outputBytes: 500, eventBytes: 0, gates: [100, 200] })
    await keepWritten(chaos.product, emitted.jobId)
    await waitFor('the emitter to be at its gate', () => emitted.truth.waitsAt(100))
    const full = [fail('write', '*/output.log', 'ENOSPC'), fail('write', '*/events.jsonl', 'ENOSPC')]
    openGate(gates, 1)
    emitted.truth.openGate(100)
    await waitFor('both to have printed more', () => isAtGate(gates, 2) && emitted.truth.waitsAt(200))
    for (const fault of full) fault.disarm()
    openGate(gates, 2)
    emitted.truth.openGate(200)

    const ended = await chaos.product.waitForEnd(real.jobId)
    expect(ended.status).toBe('success')
    expect(ended.detail).toMatch(/^[1-9]\d* structured events were lost on the runner; [1-9]\d* bytes of output were/)
    const notice = /^\[holdfast\] [1-9]\d* bytes of output lost: No space left on device$/
    const notices = noticesIn(real.truth.outputPath)
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(notice)
    expect(ended.output).toContain('part 1 item 9')
    expect(ended.output).not.toContain('part 2 item 5')
    expect(ended.output).toContain('part 3 item 9')
    await expectExactly(chaos.product, real.jobId, real.truth)
    expect(real.truth.starts()).toBe(1)

    const { outputPath, eventsPath } = keptOf(emitted.jobId)
    const job = await chaos.product.waitForEnd(emitted.jobId)
    expect(noticesIn(outputPath)).toHaveLength(1)
    const lost = bytesLost(emitted.truth.outputPath, outputPath)
    expect(lost).toBeGreaterThan(0)
    expect(job).toMatchObject({ status: 'success', detail: `${lost} bytes of output were not kept` })
    await expectExactly(chaos.product, emitted.jobId, { ...emitted.truth, outputPath, eventsPath })
  })

  test('in the middle of a line tears that line of events and nothing else', async () => {
    const { jobId, truth } = await launchParted()
    const torn = [fail('write', '*/output.log', 'short', true), fail('write', '*/events.jsonl', 'short', true)]
    openGate(gates, 1)
    await waitFor('both lines to be torn', () => torn.every((fault) => fault.wasMet()))
    openGate(gates, 2)
    const job = await chaos.product.waitForEnd(jobId)
    expect(job.status).toBe('success')
    // What was left over of the output was taken at the second try.
    expect(job.detail).toBe('1 structured events were lost on the runner')
    expect(noticesIn(truth.outputPath)).toEqual([])
    expect(job.output).toContain('part 3 item 9')
    const { records } = await chaos.product.admin.get<{ records: { type: string }[] }>(`/job/${jobId}/events`)
    expect(records.filter(({ type }) => type === 'unreadable')).toHaveLength(1)
    await expectExactly(chaos.product, jobId, truth)
  })

  test('from the middle of a job to after its end: the end gets through by its reserve', async () => {
    const { jobId, truth } = await launchParted()
    // Everything but the reserve, whose blocks are there already.
    const paths = ['*/spool/jobs/*.log', '*/spool/jobs/*.jsonl', '*/spool/jobs/*.json', '*/spool/jobs/*.new']
    for (const path of [...paths, '*/spool/jobs/*.tmp', '*/spool/staging/*']) fail('write', path, 'ENOSPC')
    openGate(gates, 1)
    openGate(gates, 2)
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

test('spool files that were torn after the end of their jobs are told as they are, and what is gone is counted', async () => {
  const jobs = []
  for (let count = 0; count < 3; count += 1) jobs.push(await chaos.launchSynthetic({ steps: 100, gates: [50] }))
  for (const { jobId, truth } of jobs) {
    await waitFor('the job to run', () => truth.waitsAt(50))
    await keepWritten(chaos.product, jobId)
  }
  chaos.proxy.hold(true)
  // What the old connection carries would still arrive when it is let go on.
  chaos.proxy.cut()
  for (const { jobId, truth } of jobs) {
    truth.openGate(50)
    await waitFor('the job to end on the runner', () => isEnded(jobId))
  }
  await chaos.product.agent.stop('SIGKILL')
  const [output, events, none] = jobs.map(({ jobId }) => jobId) as [number, number, number]
  const shorten = (path: string, by: number) => truncateSync(path, statSync(path).size - by)
  shorten(keptOf(output).outputPath, 1234)
  shorten(keptOf(events).eventsPath, 100)
  chaos.product.startAgent()
  chaos.proxy.hold(false)
  const damage = 'the spool was damaged after the end:'
  expect(await chaos.product.waitForEnd(output)).toMatchObject({
    status: 'success',
    detail: expect.stringContaining(`${damage} 1234 bytes of output and 0 of events are gone`),
  })
  expect(await chaos.product.waitForEnd(events)).toMatchObject({
    status: 'success',
    detail: expect.stringContaining(`${damage} 0 bytes of output and 100 of events are gone`),
  })
  expect(await chaos.product.waitForEnd(none)).toMatchObject({ status: 'success', detail: null })
  for (const { jobId, truth } of jobs) {
    await expectExactly(chaos.product, jobId, { ...truth, ...keptOf(jobId) })
    expect(truth.starts()).toBe(1)
  }
})

describe('a sync that fails', () => {
  test('before a job has started ends it as failed with that reason, and it never starts', async () => {
    const supervisor = { operation: 'sync', program: PROGRAMS.supervisor, action: 'EIO', once: true } as const
    const faults = [
      () => fail('sync', '*/claim.json', 'EIO', true),
      () => fail('sync', '*/spool/staging/*', 'EIO', true),
      () => fail('sync', '*/spool/jobs', 'EIO', true),
      () => chaos.faults.arm({ ...supervisor, path: '*/started.json' }),
      () => chaos.faults.arm({ ...supervisor, path: '*/spool/jobs/*' }),
    ]
    for (const arm of faults) {
      const fault = arm()
      const { jobId, truth } = await chaos.launchSynthetic()
      const job = await chaos.product.waitForEnd(jobId)
      expect(fault.wasMet()).toBe(true)
      expect(job.status).toBe('failed')
      expect(job.status_reason).toMatch(/i\/o error|Input\/output error/)
      expect(truth.starts()).toBe(0)
    }
    const { jobId, truth } = await chaos.launchSynthetic()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, jobId, truth)
  })

  test('at its end is said for the streams, and holds the end back for as long as it cannot be durable', async () => {
    const load = { steps: 20, gates: [20] }
    const [output, events, reserve, folder] = await Promise.all([1, 2, 3, 4].map(() => chaos.launchSynthetic(load)))
    if (!output || !events || !reserve || !folder) throw new Error('four jobs were launched')
    const jobs = [output, events, reserve, folder]
    for (const { truth } of jobs) await waitFor('the job to run', () => truth.waitsAt(20))
    const notDurable = [
      fail('sync', `*/spool/jobs/${reserve.jobId}-*/reserve`, 'EIO'),
      fail('sync', `*/spool/jobs/${folder.jobId}-*`, 'EIO'),
    ]
    fail('sync', `*/spool/jobs/${output.jobId}-*/output.log`, 'EIO')
    fail('sync', `*/spool/jobs/${events.jobId}-*/events.jsonl`, 'EIO')
    for (const { truth } of jobs) truth.openGate(20)
    expect(await chaos.product.waitForEnd(output.jobId)).toMatchObject({
      status: 'success',
      detail: 'output.log could not be synced to the disk: Input/output error',
    })
    expect(await chaos.product.waitForEnd(events.jobId)).toMatchObject({
      status: 'success',
      detail: 'events.jsonl could not be synced to the disk: Input/output error',
    })
    expect(isEnded(reserve.jobId)).toBe(false)
    expect(await chaos.product.admin.get(`/job/${reserve.jobId}`)).toMatchObject({ status: 'running' })
    for (const fault of notDurable) fault.disarm()
    for (const { jobId, truth } of jobs) {
      expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(chaos.product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
  })
})

test('a claimed job whose folder nobody can write ends as failed, leaves its slot to others and never starts', async () => {
  const broken = fail('open', '*/rte-state/spool/jobs/*', 'EIO')
  const { jobId, truth } = await chaos.launchSynthetic()
  const job = await chaos.product.waitForEnd(jobId)
  expect(job.status).toBe('failed')
  expect(job.status_reason).toMatch(/^the folder of the job cannot be written, so it was not started: .*EIO/)
  await chaos.product.agent.stop('SIGKILL')
  broken.disarm()
  chaos.product.startAgent()
  const next = await chaos.launchSynthetic()
  expect(await chaos.product.waitForEnd(next.jobId)).toMatchObject({ status: 'success' })
  expect(truth.starts()).toBe(0)
  expect(readdirSync(join(chaos.product.folder, 'rte-state/spool/jobs'))).not.toContainEqual(
    expect.stringMatching(new RegExp(`^${jobId}-`)),
  )
})
