import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { waitFor } from '../../support/wait.js'
import type { ChaosProduct } from './chaos-product.js'
import { spoolFolderOf } from './leftovers.js'
import type { Truth } from './load.js'
import { statusesOf } from './moves.js'
import { launchReal } from './real-job.js'
import { expectExactly } from './stored.js'
import type { Chance } from './seed.js'

/** A job with a gate in its middle, whoever runs it. */
export interface ChaosJob {
  readonly jobId: number
  readonly truth: Truth
  /** True while it waits at its gate, and after that: whatever runs it is started and loaded by then. */
  isAtGate(): boolean
  /** Waits for its start; what it writes is held fast from then on. To be called before its gate is opened. */
  keep(): Promise<void>
  openGate(): void
}

/** A job of the emitter whose size and pace are drawn: some hundred pieces of output and events, over seconds. */
export async function launchEmitted(chaos: ChaosProduct, chance: Chance): Promise<ChaosJob> {
  const steps = chance.between(100, 600)
  const gate = chance.between(1, steps)
  const { jobId, truth } = await chaos.launchSynthetic({
    steps,
    gates: [gate],
    outputBytes: chance.between(1, 3000),
    eventBytes: chance.between(1, 2000),
    perSecond: chance.between(50, 400),
    seed: chance.between(1, 1000),
    binary: chance.next() < 0.5,
    unfinished: chance.next() < 0.5,
  })
  const keep = async () => void (await waitFor(`job ${jobId} to start`, () => truth.starts() > 0))
  return { jobId, truth, keep, isAtGate: () => truth.waitsAt(gate), openGate: () => truth.openGate(gate) }
}

/** A job that real ansible runs. */
export async function launchPlaybook(chaos: ChaosProduct): Promise<ChaosJob> {
  const { jobId, truth } = await launchReal(chaos.product)
  return {
    jobId,
    truth,
    keep: () => truth.keep(),
    isAtGate: () => truth.isAtGate(),
    openGate: () => truth.openGate(),
  }
}

/** Jobs of both kinds: so many that real ansible runs, and so many that are emitted. */
export async function launchMixed(
  chaos: ChaosProduct,
  chance: Chance,
  counts: { readonly ofAnsible: number; readonly emitted: number },
): Promise<ChaosJob[]> {
  const jobs: ChaosJob[] = []
  for (let count = 0; count < counts.ofAnsible; count += 1) jobs.push(await launchPlaybook(chaos))
  for (let count = 0; count < counts.emitted; count += 1) jobs.push(await launchEmitted(chaos, chance))
  return jobs
}

/** True when the runner has the job's end, whether or not anybody else has. */
export function hasEndOnRunner({ product }: ChaosProduct, jobId: number): boolean {
  const folder = spoolFolderOf(product, jobId)
  return folder !== null && existsSync(join(folder, 'end.json'))
}

/** Each job ends on its runner, whether or not anybody hears of it. */
export async function waitForEndsOnRunner(chaos: ChaosProduct, jobs: readonly ChaosJob[]): Promise<void> {
  for (const { jobId } of jobs) await waitFor(`the end of job ${jobId}`, () => hasEndOnRunner(chaos, jobId))
}

/** Each job ends as a success, was never shown as anything else before, is stored exactly and was started once. */
export async function expectExactJobs(chaos: ChaosProduct, jobs: readonly ChaosJob[]): Promise<void> {
  for (const { jobId, truth } of jobs) {
    const { status, status_reason } = await chaos.product.waitForEnd(jobId)
    expect({ jobId, status, status_reason }).toEqual({ jobId, status: 'success', status_reason: null })
    await expectExactly(chaos.product, jobId, truth)
    expect(truth.starts()).toBe(1)
    expect(await statusesOf(chaos.product, jobId)).toEqual(['running', 'success'])
  }
}

/** The same, and the agent has let go of them and of every other. */
export async function expectExactAndGone(chaos: ChaosProduct, jobs: readonly ChaosJob[]): Promise<void> {
  await expectExactJobs(chaos, jobs)
  await expectEmptySpool(chaos)
}

/** The agent has let go of every job. */
export async function expectEmptySpool({ product }: ChaosProduct, except: readonly number[] = []): Promise<void> {
  const isLeft = (name: string) => !except.some((jobId) => name.startsWith(`${jobId}-`))
  await waitFor('the spool to be empty', () =>
    ['jobs', 'trash', 'staging'].every(
      (part) => !readdirSync(join(product.folder, 'rte-state/spool', part)).some(isLeft),
    ),
  )
}
