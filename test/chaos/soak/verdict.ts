import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countLines } from '../../support/gated-playbook.js'
import type { ChaosProduct } from '../kit/chaos-product.js'
import { type Truth, truthOf } from '../kit/load.js'
import { compareStored } from '../kit/stored.js'
import type { Harm } from './fault-kind.js'
import { type SoakUsers, isFinal } from './jobs.js'
import type { Keeper } from './keeper.js'
import type { PlannedJob } from './plan.js'
import { startsPath } from './playbooks.js'

/** What came of all jobs. */
export interface Verdict {
  /** `refused`: never started, because nobody could give them to their runner; they say so. */
  readonly jobs: Record<'emitted' | 'ansible' | 'aborted' | 'harmed' | 'abandoned' | 'refused', number>
  readonly outputBytes: number
  readonly events: number
  readonly lost: number
  readonly doubled: number
  readonly wrong: number
  /** Jobs whose status is not what happened. */
  readonly falseEnds: number
  /** Jobs whose playbook did not come to its end, although nothing had killed it and nobody had asked. */
  readonly killed: number
  readonly neverEnded: number
  readonly problems: readonly string[]
}

const OF_ANSIBLE = /^ansible-playbook (ended with|was ended by) /
const AS_PLANNED = /^ansible-playbook ended with 2/
const SHUT_OUT = /^The runner '.*' is not approved|^There is no default runner/

interface JobRecord {
  readonly id: number
  readonly status: string
  readonly status_reason: string | null
  readonly detail: string | null
  readonly abandoned_at: string | null
  readonly extravars: { readonly load?: { readonly name?: string }; readonly soak?: string }
}

/** Compares every job that the database knows with what was written, and its end with how it had to end. */
export async function judgeAll(
  chaos: ChaosProduct,
  users: SoakUsers,
  keeper: Keeper,
  harmed: ReadonlyMap<number, Harm>,
  say: (line: string) => void,
): Promise<Verdict> {
  const { product } = chaos
  const { records } = await product.admin.get<{ records: { id: number }[] }>('/job?records=10000')
  const sum = { outputBytes: 0, events: 0, lost: 0, doubled: 0, wrong: 0 }
  const jobs = { emitted: 0, ansible: 0, aborted: 0, harmed: harmed.size, abandoned: 0, refused: 0 }
  const problems: string[] = [...users.complaints]
  let [falseEnds, killed, neverEnded] = [0, 0, 0]
  for (const [index, { id }] of records.entries()) {
    if (index % 50 === 49) say(`compared ${index + 1} of ${records.length} jobs`)
    const job = await product.admin.get<JobRecord>(`/job/${id}?output=false`)
    const plan = users.planOf(job.extravars.load?.name ?? job.extravars.soak ?? '')
    if (!plan) {
      problems.push(`job ${id} was never launched`)
      continue
    }
    jobs[plan.kind] += 1
    if (job.status === 'aborted') jobs.aborted += 1
    if (job.abandoned_at !== null) jobs.abandoned += 1
    if (isRefused(job)) jobs.refused += 1
    const written = keeper.writtenOf(id)
    const starts = countLines(startsPath(join(product.folder, 'truth'), plan.name))
    const comparison = await compareStored(product, id, written ? { ...written, starts: () => 0 } : nothing(chaos))
    for (const name of ['outputBytes', 'events', 'lost', 'doubled', 'wrong'] as const) sum[name] += comparison[name]
    const mayEndEarly = users.wasAbortAsked(id) || harmed.get(id) === 'supervisor killed'
    const isEnded = isFinal(job.status)
    const ends = isEnded ? judgeEnd(job, plan, starts, users.wasAbortAsked(id), harmed.get(id)) : ['never ended']
    if (!isEnded) neverEnded += 1
    else if (ends.length > 0) falseEnds += 1
    const wasKilled = isEnded && !mayEndEarly && starts > 0 && !hasFinished(chaos, plan)
    if (wasKilled) killed += 1
    const wrongs = [
      ...comparison.problems,
      ...ends,
      ...(wasKilled ? ['its playbook did not come to its end'] : []),
      ...judgeStarts(job, starts),
      ...judgeEmitted(chaos, job, plan, written, harmed.get(id) === 'supervisor killed'),
    ]
    problems.push(...wrongs.map((problem) => `job ${id} (${plan.name}, ${job.status}): ${problem}`))
  }
  // Whatever is not right counts: a wrong end or a second start is as bad as a wrong byte.
  return { ...sum, wrong: sum.wrong + problems.length, falseEnds, killed, neverEnded, jobs, problems }
}

/** Only the emitter says when it has come to its end. */
function hasFinished(chaos: ChaosProduct, plan: PlannedJob): boolean {
  return plan.kind !== 'emitted' || truthOf(join(chaos.product.folder, 'truth'), plan.name).finished()
}

/**
 * A job ends as planned. What may be otherwise: an abort that was asked for; a job that nobody could give to its runner in
 * time, which says so and was never started; and a job that was harmed. Of that one whose supervisor was killed is failed;
 * one whose files were away is failed only by ansible-playbook itself, which could not read them.
 */
function judgeEnd(
  job: JobRecord,
  plan: PlannedJob,
  starts: number,
  abortAsked: boolean,
  harm: Harm | undefined,
): string[] {
  const reason = job.status_reason ?? ''
  const planned = plan.kind === 'ansible' ? plan.playbook.status : plan.load.exitCode === 0 ? 'success' : 'failed'
  if (isRefused(job) && starts === 0) return []
  if (abortAsked && job.status === 'aborted') return []
  if (harm === 'supervisor killed' && job.status === 'failed') return []
  const problems: string[] = []
  const mayFail = harm === 'files away' && job.status === 'failed'
  if (job.status !== planned && !mayFail)
    problems.push(`should have ended ${planned}${abortAsked ? ' or aborted' : ''} (${reason || 'no reason'})`)
  const isByAnsible = harm === 'files away' ? OF_ANSIBLE : AS_PLANNED
  if (job.status === 'failed' && !isByAnsible.test(reason)) problems.push(`failed for another reason: ${reason}`)
  if (job.detail !== null && harm === undefined && !abortAsked) problems.push(`says: ${job.detail}`)
  return problems
}

/**
 * Given up before the runner had it, so that it is not started any more when the runner comes back; or launched, or
 * waiting, while an admin had shut its runner out.
 */
function isRefused({ status, status_reason, abandoned_at }: JobRecord): boolean {
  const reason = status_reason ?? ''
  return status === 'failed' && (SHUT_OUT.test(reason) || (abandoned_at !== null && /never started it$/.test(reason)))
}

function judgeStarts(job: JobRecord, starts: number): string[] {
  if (starts > 1) return [`was started ${starts} times`]
  return starts === 0 && job.status === 'success' ? ['succeeded without being started'] : []
}

/**
 * The supervisor wrote what the emitter emitted, when both came to their end. A supervisor that was killed wrote a
 * beginning of it: what the emitter had left in the pipe is gone with it.
 */
function judgeEmitted(
  chaos: ChaosProduct,
  job: JobRecord,
  plan: PlannedJob,
  written: Omit<Truth, 'starts'> | null,
  isHarmed: boolean,
): string[] {
  if (plan.kind !== 'emitted' || job.status === 'aborted') return []
  const truth = truthOf(join(chaos.product.folder, 'truth'), plan.name)
  if (!truth.finished()) return []
  if (!written) return ['its streams were never seen on the runner']
  return (['outputPath', 'eventsPath'] as const)
    .filter((path) => {
      const emitted = readFileSync(truth[path])
      const stored = readFileSync(written[path])
      return !(isHarmed ? emitted.subarray(0, stored.length) : emitted).equals(stored)
    })
    .map((path) => `${path === 'outputPath' ? 'output' : 'events'} in the spool is not what was emitted`)
}

/** What a job wrote that was never started. */
function nothing(chaos: ChaosProduct): Truth {
  const path = join(chaos.product.folder, 'nothing')
  writeFileSync(path, '')
  return { outputPath: path, eventsPath: path, starts: () => 0 }
}
