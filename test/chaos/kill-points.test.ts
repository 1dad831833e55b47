import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '../support/wait.js'
import { KILL_POINTS, type KillPoint } from './kill-points.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { expectEmptySpool, hasEndOnRunner } from './kit/jobs.js'
import { type Truth, extravarsOf, SMALL_LOAD, truthOf } from './kit/load.js'
import { statusesOf, waitForChain } from './kit/moves.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'
import { REAL_JOBS, type RealTruth, launchReal } from './kit/real-job.js'
import { compareStored, expectExactly } from './kit/stored.js'

/**
 * Programs are killed at named points and started again. All points are met by one product, in which another job runs
 * from the first of them to the last.
 */
let chaos: ChaosProduct
let bystander: { readonly jobId: number; readonly truth: RealTruth }
/** Every job so far, and how often it has been started: no restart may add to that. */
const starts: { readonly truth: Truth; readonly count: number }[] = []

beforeAll(async () => {
  chaos = await startChaos({
    ...REAL_JOBS,
    // Between the gate and the kill nothing else may be stored. A check of a launch takes its time, in which others store.
    controlPlane: { RTE_HEARTBEAT_SECONDS: '300', LAUNCH_VALIDATION: 'off' },
  })
  bystander = await launchReal(chaos.product)
  await bystander.truth.keep()
  await waitFor('the bystander to be at its gate', bystander.truth.isAtGate)
})

afterEach(() => chaos.faults.disarmAll())
afterAll(() => chaos.close())

/** Launches a job with a gate. */
async function launch(by: KillPoint['by']) {
  if (by === 'ansible') return launchReal(chaos.product)
  const gate = by === 'silent' ? SMALL_LOAD.steps + 1 : SMALL_LOAD.steps / 2
  const { jobId, truth } = await chaos.launchSynthetic({ gates: [gate], binary: true })
  return {
    jobId,
    truth: {
      ...truth,
      isAtGate: () => truth.written() > 0,
      openGate: () => truth.openGate(gate),
      keep: () => undefined,
    },
  }
}

async function dies({ victim }: KillPoint, fault: { wasMet(): boolean }): Promise<void> {
  if (victim === 'supervisor') await waitFor('the supervisor to be killed', fault.wasMet)
  else expect((await chaos.product[victim].exited).signal).toBe('SIGKILL')
  expect(fault.wasMet()).toBe(true)
}

async function startAgain(victim: KillPoint['victim']): Promise<void> {
  if (victim === 'agent') chaos.product.startAgent()
  if (victim === 'controlPlane') await chaos.product.startControlPlane()
}

/** True as soon as everything that the job has written is stored, and there is something. */
async function isStored(jobId: number, truth: Truth): Promise<boolean> {
  const { outputBytes, problems } = await compareStored(chaos.product, jobId, truth)
  return outputBytes > 0 && problems.length === 0
}

/** From now on until its end the runner has nothing to say about itself, so that the next commit is of the job. */
async function isCounted(): Promise<boolean> {
  const { records } = await chaos.product.admin.get<{ records: { running_jobs: number }[] }>('/runner')
  return records[0]?.running_jobs === 2
}

const expectNothingLeft = () => expectEmptySpool(chaos, [bystander.jobId])

/** Tries again while another commit than the wanted one was met, which gives null. Whatever fails ends the test at once. */
async function untilMet<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let tries = 0; tries < 10; tries += 1) {
    const met = await attempt()
    if (met !== null) return met
  }
  throw new Error('ten times, another commit than the wanted one was met')
}

/**
 * Plays a point with a new job, to the end of the job.
 * @returns false when the point was missed: another commit than that of the end was met, and the job was still running
 */
async function play(point: KillPoint): Promise<boolean> {
  const { victim, operation, path, action, from, by, fails } = point
  await chaos.product.waitForRunner()
  const arm = () => chaos.faults.arm({ operation, program: PROGRAMS[victim], path, action, once: true })
  let fault = from === 'launch' ? arm() : null
  const { jobId, truth } = await launch(by)
  if (!fault) {
    await truth.keep()
    await waitFor('the job to be stored up to its gate', () => truth.isAtGate() && isStored(jobId, truth))
    if (victim === 'controlPlane') {
      await waitFor('what the runner said about itself to be stored', isCounted)
      await waitForChain(chaos.product)
    }
    fault = arm()
    truth.openGate()
  }
  await dies(point, fault)
  const isMissed = point.leavesUntold && !(await statusesOf(chaos.product, jobId)).includes('success')
  if (point.leavesUntold && !isMissed) {
    expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'success'])
    expect(hasEndOnRunner(chaos, jobId)).toBe(true)
  }
  await startAgain(victim)
  if (from === 'launch' && !fails) {
    await truth.keep()
    truth.openGate()
  }
  const job = await chaos.product.waitForEnd(jobId)
  expect(await statusesOf(chaos.product, jobId)).toEqual(['running', fails ? 'failed' : 'success'])
  if (fails) expect(job.status_reason).toMatch(fails.reason)
  if (existsSync(truth.outputPath)) await expectExactly(chaos.product, jobId, truth)
  else expect(job.output).toBe('')
  expect(truth.starts()).toBe(fails?.starts ?? 1)
  starts.push({ truth, count: truth.starts() })
  await expectNothingLeft()
  return !isMissed
}

describe.each(KILL_POINTS)('$victim: $name', (point) => {
  test(
    point.fails
      ? `the job ends as failed, started ${point.fails.starts} times`
      : 'the job is exact and was started once',
    async () => {
      // On a busy machine, a commit of something else may come between the gate and the end of the job.
      await untilMet(async () => (await play(point)) || null)
    },
  )
})

describe('the agent after end.json, before the end is sent', () => {
  test('the job is exact and was started once', async () => {
    const { jobId, truth } = await launch('ansible')
    await truth.keep()
    await waitFor('the job to be at its gate', truth.isAtGate)
    chaos.proxy.hold(true)
    truth.openGate()
    await waitFor('its end', () => hasEndOnRunner(chaos, jobId))
    await chaos.product.agent.stop('SIGKILL')
    expect((await chaos.product.admin.get(`/job/${jobId}`)).status).toBe('running')
    chaos.proxy.hold(false)
    chaos.product.startAgent()
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null })
    await expectExactly(chaos.product, jobId, truth)
    starts.push({ truth, count: 1 })
    await expectNothingLeft()
  })
})

describe('the control plane in a launch', () => {
  /** Launches a job whose request is never answered. @returns the id of the job, null when none is stored */
  async function launchInVain(name: string, rule: Pick<FaultRule, 'operation' | 'action'>) {
    await chaos.product.waitForRunner()
    const last = await newestJob()
    await waitForChain(chaos.product)
    const fault = chaos.faults.arm({ ...rule, program: PROGRAMS.controlPlane, path: '*-wal', once: true })
    const folder = join(chaos.product.folder, 'truth')
    const launched = chaos.product.launch('synthetic', extravarsOf(SMALL_LOAD, folder, name))
    await expect(launched).rejects.toThrow()
    expect((await chaos.product.controlPlane.exited).signal).toBe('SIGKILL')
    expect(fault.wasMet()).toBe(true)
    await chaos.product.startControlPlane()
    const newest = await newestJob()
    return { jobId: newest === last ? null : newest, truth: truthOf(folder, name) }
  }

  async function newestJob(): Promise<number> {
    return (await chaos.product.admin.get<{ records: { id: number }[] }>('/job')).records[0]?.id ?? 0
  }

  test('before it is stored: there is no job, and none runs', async () => {
    const { jobId, truth } = await launchInVain('unstored', { operation: 'write', action: 'kill-before' })
    expect(jobId).toBeNull()
    starts.push({ truth, count: 0 })
  })

  test('after it is stored and before it is answered: the job runs, once', async () => {
    // The commit that is met may be another one, of what the runner said about itself.
    const { jobId, truth } = await untilMet(async () => {
      const launched = await launchInVain(`stored-${starts.length}`, { operation: 'sync', action: 'kill-after' })
      if (launched.jobId !== null) return { ...launched, jobId: launched.jobId }
      starts.push({ truth: launched.truth, count: 0 })
      return null
    })
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null })
    await expectExactly(chaos.product, jobId, truth)
    starts.push({ truth, count: 1 })
  })
})

test('the job that ran during all of this is exact, and no restart starts a job again', async () => {
  const { jobId, truth } = bystander
  await chaos.product.waitForRunner()
  truth.openGate()
  expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success', status_reason: null })
  expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'success'])
  await expectExactly(chaos.product, jobId, truth)
  starts.push({ truth, count: 1 })
  await chaos.product.agent.stop('SIGKILL')
  await chaos.product.controlPlane.stop('SIGKILL')
  await chaos.product.startControlPlane()
  chaos.product.startAgent()
  // Jobs that are offered after the others: whatever was to be run again would have been offered before it.
  const last = await chaos.launchSynthetic()
  expect(await chaos.product.waitForEnd(last.jobId)).toMatchObject({ status: 'success', status_reason: null })
  for (const { truth: one, count } of starts) expect(one.starts()).toBe(count)
})
