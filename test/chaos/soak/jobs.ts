import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { ChaosProduct } from '../kit/chaos-product.js'
import { extravarsOf } from '../kit/load.js'
import type { Chance } from '../kit/seed.js'
import { patiently } from './patient.js'
import { type PlannedJob, planJob } from './plan.js'
import { startsPath } from './playbooks.js'

/** Jobs that run at the same time. */
const IN_FLIGHT = 7
const LOOK_MS = 250
/** Pause after a job that failed at once: its runner is shut out, and further launches would only be refused too. */
const REFUSED_MS = 2000
const PATIENCE_MS = 300_000

/** A list record, as far as the soak reads it. */
export interface SoakRecord {
  readonly id: number
  readonly status: string
}

/** The people who use the product: they launch, look, and abort. */
export interface SoakUsers {
  /** Launches jobs until the signal, so many at a time. */
  launchUntil(until: AbortSignal): Promise<void>
  /** The plan of a launch by the name that its extra variables carry. */
  planOf(name: string): PlannedJob | undefined
  /** True when an abort of the job was asked for; also when nobody knows whether the request arrived. */
  wasAbortAsked(jobId: number): boolean
  /** Jobs that were seen abandoned. */
  readonly abandoned: ReadonlySet<number>
  /** Sentences about statuses that must not have been seen. */
  readonly complaints: readonly string[]
  /** Reads all jobs and notes what is seen. @returns null while the control plane does not answer */
  look(): Promise<readonly SoakRecord[] | null>
}

export function createUsers(chaos: ChaosProduct, chance: Chance): SoakUsers {
  const { product } = chaos
  const truthFolder = join(product.folder, 'truth')
  const plans = new Map<string, PlannedJob>()
  const abortAsked = new Set<number>()
  const abandoned = new Set<number>()
  const finals = new Map<number, string>()
  const complaints: string[] = []
  const aborts = new Set<Promise<void>>()

  /** A final status never changes, whatever happens. */
  const note = ({ id, status }: SoakRecord): void => {
    if (status === 'abandoned') abandoned.add(id)
    const before = finals.get(id)
    if (before !== undefined && before !== status) complaints.push(`job ${id} was shown ${before} and then ${status}`)
    if (isFinal(status)) finals.set(id, status)
  }

  const look = async (): Promise<readonly SoakRecord[] | null> => {
    try {
      const { status, body } = await product.admin.request('GET', '/job?records=10000')
      if (status !== 200 && status !== 503) complaints.push(`the list of jobs was answered ${status}`)
      if (status !== 200) return null
      const { records } = body as { records: SoakRecord[] }
      for (const record of records) note(record)
      return records
    } catch {
      return null
    }
  }

  const abort = async (jobId: number, afterMs: number): Promise<void> => {
    await pause(afterMs)
    abortAsked.add(jobId)
    const { status } = await patiently(product, 'POST', `/job/${jobId}/abort`, {}, Date.now() + PATIENCE_MS)
    // 409: it has ended, it was given up, or an answer got lost and this is the second request.
    if (status !== 200 && status !== 409) complaints.push(`the abort of job ${jobId} was answered ${status}`)
  }

  /** A launch whose answer got lost may have happened: the next one has another name. @returns the job, if it is known */
  const launch = async (plan: PlannedJob): Promise<number | null> => {
    plans.set(plan.name, plan)
    const rawFormData =
      plan.kind === 'emitted'
        ? extravarsOf(plan.load, truthFolder, plan.name)
        : {
            soak: plan.name,
            starts: startsPath(truthFolder, plan.name),
            rounds: plan.rounds,
            seconds: plan.seconds,
          }
    const form = plan.kind === 'emitted' ? 'synthetic' : plan.playbook.form
    try {
      const { status, body } = await product.admin.request('POST', '/job', { formName: form, rawFormData })
      if (status !== 200 && status !== 503) complaints.push(`a launch was answered ${status}: ${JSON.stringify(body)}`)
      if (status !== 200) return null
      const { id } = body as { id: number }
      if (plan.abortAfterMs !== null) {
        const aborting = abort(id, plan.abortAfterMs).finally(() => aborts.delete(aborting))
        aborts.add(aborting)
      }
      return id
    } catch {
      await pause(LOOK_MS)
      return null
    }
  }

  return {
    async launchUntil(until) {
      let last: number | null = null
      for (let number = 1; !until.aborted;) {
        const records = await look()
        if (records?.some(({ id, status }) => id === last && status === 'failed')) await pause(REFUSED_MS)
        const open = records?.filter(({ status }) => status === 'running').length ?? IN_FLIGHT
        if (open < IN_FLIGHT) {
          last = await launch(planJob(chance.fork(`job ${number}`), number))
          number += 1
        } else {
          last = null
          await pause(LOOK_MS)
        }
      }
      await Promise.all(aborts)
    },
    planOf: (name) => plans.get(name),
    wasAbortAsked: (jobId) => abortAsked.has(jobId),
    abandoned,
    complaints,
    look,
  }
}

/** True for a status that nothing may replace any more. */
export function isFinal(status: string): boolean {
  return ['success', 'failed', 'aborted', 'warning', 'rejected'].includes(status)
}
