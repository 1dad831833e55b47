import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { ProductOptions } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import type { ChaosProduct } from './chaos-product.js'
import type { Truth } from './load.js'
import { statusesOf } from './moves.js'
import { REAL_FORM, REAL_PLAYBOOK, launchReal } from './real-job.js'
import { expectExactly } from './stored.js'
import type { Chance } from './seed.js'

/** A job with a gate in its middle, whoever runs it. */
export interface ChaosJob {
  readonly jobId: number
  readonly truth: Truth
  /** Waits for its start; what it writes is held fast from then on. To be called before its gate is opened. */
  keep(): Promise<void>
  openGate(): void
}

/** What a product needs for jobs of both kinds. */
export const BOTH_KINDS: ProductOptions = {
  forms: { 'real.yml': REAL_FORM },
  playbooks: { 'real.yml': REAL_PLAYBOOK },
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
  return { jobId, truth, keep, openGate: () => truth.openGate(gate) }
}

/** A job that real ansible runs. */
export async function launchPlaybook(chaos: ChaosProduct): Promise<ChaosJob> {
  const { jobId, truth } = await launchReal(chaos.product)
  return { jobId, truth, keep: () => truth.keep(), openGate: () => truth.openGate() }
}

/** True when the runner has the job's end, whether or not anybody else has. */
export function hasEndOnRunner({ product }: ChaosProduct, jobId: number): boolean {
  const jobs = join(product.folder, 'rte-state/spool/jobs')
  const name = readdirSync(jobs).find((folder) => folder.startsWith(`${jobId}-`))
  return name !== undefined && existsSync(join(jobs, name, 'end.json'))
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

/** The agent has let go of every job. */
export async function expectEmptySpool({ product }: ChaosProduct, except: readonly number[] = []): Promise<void> {
  const isLeft = (name: string) => !except.some((jobId) => name.startsWith(`${jobId}-`))
  await waitFor('the spool to be empty', () =>
    ['jobs', 'trash', 'staging'].every(
      (part) => !readdirSync(join(product.folder, 'rte-state/spool', part)).some(isLeft),
    ),
  )
}
