import { setTimeout as pause } from 'node:timers/promises'
import { ADMIN_PASSWORD } from '../../support/product.js'
import { signIn } from '../../support/rest.js'
import { waitFor } from '../../support/wait.js'
import { type ChaosProduct, startChaos } from '../kit/chaos-product.js'
import type { SyntheticTruth } from '../kit/load.js'
import { type Chance, createChance } from '../kit/seed.js'
import { compareStored } from '../kit/stored.js'
import type { CommandResult } from '../soak/command.js'
import type { FailOverOptions } from './options.js'
import { type ServerPair, startPair } from './pair.js'

/** Jobs that run at the same time. The runner takes more, so each launch reaches it at once. */
const IN_FLIGHT = 3

/** A launch that was answered. */
interface Launch {
  /** The number in the answer. After a fail-over another job may have it. */
  readonly jobId: number
  readonly truth: SyntheticTruth
  readonly exitCode: number
}

interface JobRecord {
  readonly id: number
  readonly status: string
  readonly status_reason: string | null
  readonly detail: string | null
  readonly run_id: string
}

/** The names of the launches by their runs. A list does not have them, and a job never changes its own. */
class LaunchNames {
  readonly #names = new Map<string, string>()

  async of(product: ChaosProduct['product'], { id, run_id: run }: JobRecord): Promise<string> {
    const known = this.#names.get(run)
    if (known !== undefined) return known
    const path = `/job/${id}?output=false`
    const job = await product.admin.get<{ run_id: string; extravars: { load?: { name?: string } } }>(path)
    if (job.run_id !== run) throw new Error(`job ${id} is another run now`)
    const name = job.extravars.load?.name ?? ''
    this.#names.set(run, name)
    return name
  }
}

/** What came of all jobs. */
interface Sums {
  jobs: number
  /** Launches that no runner had taken before the server was killed: they are in no database and never ran. */
  untaken: number
  adopted: number
  outputBytes: number
  events: number
  lost: number
  doubled: number
  wrong: number
}

/** Plays so many fail-overs and judges every job after each of them. */
export async function playFailOvers(
  { count, seed, behind, keep }: FailOverOptions,
  interrupted: AbortSignal,
  say: (line: string) => void,
): Promise<CommandResult> {
  say(`chaos: seed ${seed}`)
  const chance = createChance(seed)
  const pair = await startPair()
  const sums: Sums = { jobs: 0, untaken: 0, adopted: 0, outputBytes: 0, events: 0, lost: 0, doubled: 0, wrong: 0 }
  let chaos: ChaosProduct | null = null
  let isExact = false
  let [played, noticed] = [0, 0]
  try {
    chaos = await startChaos({ database: pair.server, agent: { RTE_MAX_JOBS: '20' } })
    for (; played < count && !interrupted.aborted; played += 1) {
      const before = sums.wrong
      const behindMs = Math.round(chance.next() * behind * 1000)
      await playOne(chaos, pair, chance.fork(String(played)), behindMs, sums, say)
      say(`fail-over ${played + 1} of ${count}, ${behindMs} ms behind: ${sums.wrong === before ? 'exact' : 'WRONG'}`)
    }
    const { admin } = chaos.product
    noticed = (await admin.get<{ records: unknown[] }>('/audit?action=database.went_back')).records.length
    isExact = sums.lost + sums.doubled + sums.wrong === 0
  } finally {
    await chaos?.close({ keep: keep || !isExact })
    if (chaos && (keep || !isExact)) say(`chaos: kept ${chaos.product.folder}`)
    await pair.close()
  }
  const { jobs, untaken, adopted, outputBytes, events, lost, doubled, wrong } = sums
  const ran = `${played} fail-overs (${noticed} in the audit trail), ${jobs} jobs (${adopted} under a new number, ${untaken} launches taken by nobody)`
  const line = `${ran}; compared ${outputBytes} bytes and ${events} events: ${lost} lost, ${doubled} doubled, ${wrong} wrong`
  return { line, isExact }
}

async function playOne(
  chaos: ChaosProduct,
  pair: ServerPair,
  chance: Chance,
  behindMs: number,
  sums: Sums,
  say: (line: string) => void,
): Promise<void> {
  await pair.follow()
  const { product } = chaos
  Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
  await product.waitForRunner()
  const launches: Launch[] = []
  const stop = new AbortController()
  const launching = launchUntil(chaos, chance.fork('jobs'), launches, stop.signal)
  await pause(chance.between(0, 2000))
  pair.fallBehind()
  await pause(behindMs)
  await pair.failOver()
  stop.abort()
  await launching
  await product.waitForRunner()
  const names = new LaunchNames()
  for (const launch of launches) await judge(chaos, launch, names, sums, say)
}

/** Keeps so many jobs running. A launch that gets no answer may have happened or not; its truth tells. */
async function launchUntil(chaos: ChaosProduct, chance: Chance, launches: Launch[], until: AbortSignal): Promise<void> {
  const isFree = (): boolean => launches.filter(({ truth }) => !truth.finished()).length < IN_FLIGHT
  while (!until.aborted) {
    if (!isFree()) {
      await pause(20)
      continue
    }
    const exitCode = chance.pick([0, 0, 2])
    const load = { steps: chance.between(20, 300), perSecond: chance.pick([0, 50, 200]), seed: chance.between(1, 1000) }
    await chaos.launchSynthetic({ ...load, exitCode }).then(
      ({ jobId, truth }) => launches.push({ jobId, truth, exitCode }),
      () => pause(100),
    )
  }
}

/** Waits for the real end of a launch, wherever its run is found, and compares it. */
async function judge(
  chaos: ChaosProduct,
  launch: Launch,
  names: LaunchNames,
  sums: Sums,
  say: (line: string) => void,
): Promise<void> {
  const { product } = chaos
  const { truth, exitCode, jobId } = launch
  const wrong = (what: string): void => {
    sums.wrong += 1
    say(`job ${jobId} (${truth.name}): ${what}`)
  }
  const found = async (): Promise<JobRecord[]> => {
    const { records } = await product.admin.get<{ records: JobRecord[] }>('/job?records=150')
    const jobs: JobRecord[] = []
    for (const job of records) if ((await names.of(product, job)) === truth.name) jobs.push(job)
    return jobs
  }
  if (truth.starts() === 0 && (await found()).length === 0) {
    sums.untaken += 1
    return
  }
  const job = await waitFor(`the end of ${truth.name}`, async () => {
    const [one] = await found()
    return one && !['running', 'approve', 'abandoned'].includes(one.status) ? one : null
  }).catch(() => null)
  sums.jobs += 1
  if (job === null) return wrong('has no end')
  if ((await found()).length !== 1) wrong('there are two jobs of it')
  if (job.id !== jobId) sums.adopted += 1
  const planned = exitCode === 0 ? 'success' : 'failed'
  if (
    job.status !== planned ||
    (job.status_reason !== null && !/^ansible-playbook ended with/.test(job.status_reason))
  ) {
    wrong(`ended as ${job.status} and not as ${planned}: ${job.status_reason ?? 'no reason'}`)
  }
  if (job.detail !== null) wrong(`says: ${job.detail}`)
  if (truth.starts() !== 1) wrong(`was started ${truth.starts()} times`)
  const comparison = await compareStored(product, job.id, truth)
  for (const name of ['outputBytes', 'events', 'lost', 'doubled'] as const) sums[name] += comparison[name]
  for (const problem of comparison.problems) wrong(problem)
}
