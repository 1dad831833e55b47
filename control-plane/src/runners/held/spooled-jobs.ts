import type { ResumedJob, SpooledJob } from '@holdfast/protocol'
import type { Clock } from '../../time/clock.js'
import { abortUnstarted, approvedBefore, endJob, isEnded, jobStatusOf } from '../../jobs/job-port.js'
import {
  type HeldJob,
  type JobHolder,
  findJobOfKey,
  findJobsOfKey,
  findJobsOfRuns,
  markClaimed,
  noteHolder,
  noteOlderCopy,
  requeue,
  ownKeys,
  takeOverJobs,
} from '../../store/jobs/dispatch.js'
import { givePlace } from '../../store/jobs/places.js'
import { type StreamLengths, findFullStreams, findStreamLengths } from '../../store/jobs/job-streams.js'
import {
  type OrphanDecision,
  type OrphanReason,
  type PastRun,
  deleteOtherOrphans,
  findPastRuns,
  listOrphans,
  noteOrphan,
} from '../../store/jobs/orphans.js'
import type { Queries, Store } from '../../store/store.js'
import { takeAcceptedCopy } from '../../store/runners/runners.js'
import { type OlderCopy, missingReason } from '../streams/older-copy.js'
import { ALL_FULL, type FullStreams, NONE_FULL } from '../streams/stream-limits.js'

/** How a job in an agent's spool goes on, and how much of it is stored. */
export interface Resumption {
  readonly job: ResumedJob
  readonly stored: StreamLengths
  readonly full: FullStreams
  /** The job is reported from an older copy of the state folder; null: it is not. */
  readonly copy: OlderCopy | null
}

const NOTHING_STORED: StreamLengths = { output: 0, events: 0, eventsCount: 0 }

/** The runner whose list is answered. */
export interface ListedRunner extends JobHolder {
  /** The epoch of the connection on which it sent the list. */
  readonly epoch: number
}

/** The runner that has a job from now on, and the connection on which it said so. */
export type ConnectedHolder = JobHolder & Pick<ListedRunner, 'epoch'>

type JobRef = Pick<SpooledJob, 'job_id' | 'run_id'>

/**
 * Compares an agent's spool with the database when the agent has connected. Jobs are known by run id and key. So jobs
 * of a runner that was removed, or that replaced its keys, are found again and go on.
 *
 * - The agent is asked about jobs that it should have and does not list (`recalled-runs.ts`). Nothing is decided about
 *   them here.
 * - Jobs that it has go on from what is stored.
 * - Jobs that this database does not know are described by the agent, and get a new row (`adoption.ts`). The product
 *   ends a playbook only when a person asked for it, never because a list names an unknown job. So the agent has to
 *   forget only a job that a person deleted.
 * - A list may come from an older copy of the state folder, which an admin accepted. Then what is stored stays, and a
 *   job that the list does not name may have run.
 * - Jobs of another control plane wait, also if the database knows them: the database may be a copy.
 */
export function answerInventory(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { runnerId, keys, epoch }: ListedRunner,
  spooled: readonly SpooledJob[],
): Promise<{ readonly answers: readonly Resumption[]; readonly missing: readonly JobRef[] }> {
  // This runs in its turn among the writes. So everything that an older connection of the runner had begun to write is
  // stored before.
  return store.write('runners.inventory', async (queries) => {
    const now = clock.now()
    const holder = { runnerId, epoch, keys: await ownKeys(queries, { runnerId, keys }) }
    await takeOverJobs(queries, holder)
    const runIds = spooled.map((job) => job.run_id)
    const copyBy = await takeAcceptedCopy(queries, runnerId)
    const known = new Map((await findJobsOfRuns(queries, runIds)).map((job) => [job.run_id, job]))
    const unknown = runIds.filter((runId) => !known.has(runId))
    const past = await findPastRuns(queries, unknown)
    const decisions = new Map((await listOrphans(queries, runnerId)).map(({ runId, decision }) => [runId, decision]))
    const answers: Resumption[] = []
    const waiting: string[] = []
    for (const ref of spooled) {
      const job = known.get(ref.run_id)
      const reason = whyItWaits(ref, job, holder)
      const deleted = past.get(ref.run_id)
      if (reason === null && job) answers.push(await resumptionOf(queries, job, ref, holder, { now, copyBy }))
      else if (reason === null && deleted) answers.push(ofPastRun(ref, deleted))
      else {
        const decision = decisions.get(ref.run_id) ?? null
        answers.push(await keepWaiting(queries, ref, reason, { runnerId, now, decision }))
        waiting.push(ref.run_id)
        // The runner has the job, whoever it belongs to. So it is not offered any more.
        if (job && isOf(holder, job)) await markClaimed(queries, job.id, epoch, now)
      }
    }
    await deleteOtherOrphans(queries, runnerId, waiting)
    const listed = new Set(runIds)
    const missing = (await findJobsOfKey(queries, holder.keys[0])).filter(({ run_id }) => !listed.has(run_id))
    if (copyBy === null) return { answers, missing: missing.map(({ id: job_id, run_id }) => ({ job_id, run_id })) }
    for (const job of missing) await endMissingInCopy(queries, job, now, copyBy)
    return { answers, missing: [] }
  })
}

/** Why a job of the list is not adopted automatically. Null: it is adopted, or the agent is asked to describe it. */
function whyItWaits(ref: SpooledJob, job: HeldJob | undefined, holder: JobHolder): OrphanReason | null {
  if (ref.service !== undefined) return 'other_service'
  return job && !isOf(holder, job) ? 'other_runner' : null
}

/** A job that waits for an admin, or for its description. */
async function keepWaiting(
  queries: Queries,
  ref: SpooledJob,
  reason: OrphanReason | null,
  {
    runnerId,
    now,
    decision,
  }: Pick<ListedRunner, 'runnerId'> & { readonly now: number; readonly decision: OrphanDecision | null },
): Promise<Resumption> {
  if (decision === 'forget') return ofPastRun(ref, 'asked')
  // The agent describes it now, and it gets a new row.
  if (reason === null) return kept(ref, 'unknown')
  await noteOrphan(queries, {
    runner_id: runnerId,
    run_id: ref.run_id,
    job_number: ref.job_id,
    reason,
    service: ref.service ?? null,
    ended: ref.ended ? 1 : 0,
    reported_at: now,
    output_bytes: ref.output,
    events_bytes: ref.events,
  })
  return kept(ref, 'unknown')
}

/**
 * How a run that an agent has goes on, according to the database.
 * @returns null when the database knows nothing of it
 */
export async function resumptionOfRun(
  queries: Queries,
  holder: ConnectedHolder,
  ref: JobRef,
  now: number,
): Promise<Resumption | 'other_runner' | null> {
  const [job] = await findJobsOfRuns(queries, [ref.run_id])
  if (job) return isOf(holder, job) ? resumptionOf(queries, job, ref, holder, { now, copyBy: null }) : 'other_runner'
  const deleted = (await findPastRuns(queries, [ref.run_id])).get(ref.run_id)
  return deleted ? ofPastRun(ref, deleted) : null
}

/**
 * Only the runner of a run is told its random run id. So the id is enough where no key is stored: in a database that
 * was restored from a time before the offer.
 */
function isOf({ keys }: JobHolder, { runner_key: key }: HeldJob): boolean {
  return key === null || keys.includes(key)
}

/** How a job goes on that belongs to the runner. The runner may know it under another number. */
async function resumptionOf(
  queries: Queries,
  job: HeldJob,
  ref: JobRef,
  holder: ConnectedHolder,
  { now, copyBy }: { readonly now: number; readonly copyBy: string | null },
): Promise<Resumption> {
  if (copyBy !== null) await noteOlderCopy(queries, job.id, copyBy)
  const copy = copyOf(job, copyBy)
  // The end in the copy is compared with the stored end, so the agent has to send it.
  const verdict = copy?.isEnded ? 'continue' : verdictOn(job)
  if (verdict === 'stored') return { ...kept(ref, verdict), copy }
  const stored = (await findStreamLengths(queries, job.id)) ?? NOTHING_STORED
  const full = copy?.isEnded ? ALL_FULL : await findFullStreams(queries, job.id)
  if (!copy?.isEnded) {
    if (job.status === 'approve') await approvedBefore(queries, job, now)
    // In a restored database the job waits for a place in its group. But it runs, so it counts in the group.
    else if (job.dispatch === 'parked') await givePlace(queries, job.id, 'queued', now)
    await noteHolder(queries, job.id, holder)
    await markClaimed(queries, job.id, holder.epoch, now)
  }
  const { output, events } = stored
  const { job_id, run_id } = ref
  const abort = !copy?.isEnded && job.abort_requested === 1
  const answer: ResumedJob = { job_id, run_id, verdict, output, events, abort }
  return { job: job.id === job_id ? answer : { ...answer, number: job.id }, stored, full, copy }
}

/**
 * The older copy that a job of a list is reported from: this list itself, or a list whose jobs are still being
 * compared.
 */
function copyOf(job: HeldJob, copyBy: string | null): OlderCopy | null {
  const acceptedBy = copyBy ?? job.older_copy
  return acceptedBy === null ? null : { acceptedBy, isEnded: job.dispatch === 'done' }
}

/** The answer for a deleted job. It gets no new row. If a person deleted it, its processes have to end. */
export function ofPastRun(ref: JobRef, how: PastRun): Resumption {
  return kept(ref, how === 'stored' ? 'stored' : 'forget')
}

/** An answer after which the agent sends nothing of the job. */
export function kept({ job_id, run_id }: JobRef, verdict: 'unknown' | 'stored' | 'forget'): Resumption {
  const job = { job_id, run_id, verdict, output: 0, events: 0, abort: false }
  return { job, stored: NOTHING_STORED, full: NONE_FULL, copy: null }
}

function verdictOn(job: HeldJob): 'continue' | 'stored' {
  if (job.dispatch === 'done') return 'stored'
  const status = jobStatusOf(job.status)
  return isEnded(status) && status !== 'abandoned' ? 'stored' : 'continue'
}

/** The job may have run after the copy was made. So it must not run again. */
async function endMissingInCopy(queries: Queries, job: HeldJob, now: number, acceptedBy: string): Promise<void> {
  const reason = missingReason(job.runner_name, acceptedBy)
  await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
}

/** Decides about a job of which its runner says that it has never heard of its run, or that it does not take it. */
export async function resolveMissing(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.dispatch === 'claimed') {
    const runner = job.runner_name ?? ''
    const reason = `the runner '${runner}' claimed the job and says that it has never heard of it: its spool was lost`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await resolveUnclaimed(queries, job, now)
  }
}

/**
 * Decides about a job that its runner refused or does not have. If it was not claimed and may still run, it goes back
 * into the queue. If it was claimed, it ends as lost.
 */
export async function takeBack(queries: Queries, runnerKey: string, ref: JobRef, now: number): Promise<void> {
  const job = await findJobOfKey(queries, runnerKey, ref.job_id)
  if (job?.run_id === ref.run_id) await resolveMissing(queries, job, now)
}

async function resolveUnclaimed(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.abort_requested === 1) {
    await abortUnstarted(queries, job.id, job.abort_requested_by, now)
  } else if (isEnded(jobStatusOf(job.status))) {
    // People saw that the job has ended, so it must not start afterwards.
    const reason = `given up on its way to the runner '${job.runner_name ?? ''}', which never started it`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await requeue(queries, job.id, now)
  }
}
