import { ADOPTING_CONTRACT, type ResumedJob, type SpooledJob } from '@holdfast/protocol'
import type { Clock } from '../../clock.js'
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

/** What becomes of a job in an agent's spool, and what is stored of it. */
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
  /** The newest contract that its agent speaks. */
  readonly contract: number
  /** Of the connection over which it says so. */
  readonly epoch: number
}

/** Who has a job from now on, and over which connection it says so. */
export type ConnectedHolder = JobHolder & Pick<ListedRunner, 'epoch'>

type JobRef = Pick<SpooledJob, 'job_id' | 'run_id'>

/**
 * Compares an agent's spool with the database after a (re)connect. Jobs are known by run and key. So those of a runner that
 * was removed, or that replaced its keys, are found again and go on.
 *   - jobs that the agent never claimed go back into the queue, jobs that it claimed and lost are ended with that reason;
 *   - jobs that it has go on from what is stored;
 *   - jobs that this database does not know are described by the agent and made anew (`adoption.ts`). The product ends a
 *     playbook only when a person asked for it, never because a list names what it does not know: so only a job that a
 *     person deleted is to be forgotten. An agent that is too old to describe a job hears nothing of it, and keeps it;
 *   - a list that comes from an older copy of the state folder, which an admin accepted, says less: what is stored stays, and
 *     what it does not name may have run;
 *   - jobs of another control plane wait, also where the database knows them: it may be a copy of the right one.
 */
export function answerInventory(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { runnerId, keys, contract, epoch }: ListedRunner,
  spooled: readonly SpooledJob[],
): Promise<Resumption[]> {
  // All of it in its turn with the writes: what an older connection of the runner still had under way is stored by then.
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
        const answer = await keepWaiting(queries, ref, reason, {
          runnerId,
          contract,
          now,
          decision: decisions.get(ref.run_id) ?? null,
        })
        if (answer) answers.push(answer)
        waiting.push(ref.run_id)
        // It is on the runner, whoever it belongs to: it is not offered any more.
        if (job && isOf(holder, job)) await markClaimed(queries, job.id, epoch)
      }
    }
    await deleteOtherOrphans(queries, runnerId, waiting)
    const listed = new Set(runIds)
    for (const job of await findJobsOfKey(queries, holder.keys[0])) {
      if (!listed.has(job.run_id)) await resolveMissing(queries, job, now, copyBy)
    }
    return answers
  })
}

/** Why a job of the list is not taken up by itself; null: it is, or it is to be described. */
function whyItWaits(ref: SpooledJob, job: HeldJob | undefined, holder: JobHolder): OrphanReason | null {
  if (ref.service !== undefined) return 'other_service'
  return job && !isOf(holder, job) ? 'other_runner' : null
}

/**
 * A job that waits for an admin, or for its description. Null: an agent that knows no other answer than to forget it hears
 * nothing, unless an admin said so.
 */
async function keepWaiting(
  queries: Queries,
  ref: SpooledJob,
  reason: OrphanReason | null,
  {
    runnerId,
    contract,
    now,
    decision,
  }: Pick<ListedRunner, 'runnerId' | 'contract'> & { readonly now: number; readonly decision: OrphanDecision | null },
): Promise<Resumption | null> {
  const isAble = contract >= ADOPTING_CONTRACT
  if (decision === 'forget') return ofPastRun(ref, 'asked')
  // It is described at once, and made anew.
  if (isAble && reason === null) return kept(ref, 'unknown')
  await noteOrphan(queries, {
    runner_id: runnerId,
    run_id: ref.run_id,
    job_number: ref.job_id,
    reason: reason ?? 'old_agent',
    service: ref.service ?? null,
    ended: ref.ended ? 1 : 0,
    reported_at: now,
    output_bytes: ref.output,
    events_bytes: ref.events,
  })
  return isAble ? kept(ref, 'unknown') : null
}

/**
 * What becomes of a run that an agent has, by what the database knows of it.
 * @returns null when it knows nothing
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
 * A run has a random name that only its runner is told. So it says enough where no key is noted, in a database that was
 * restored or is older than the keys of jobs.
 */
function isOf({ keys }: JobHolder, { runner_key: key }: HeldJob): boolean {
  return key === null || keys.includes(key)
}

/** What becomes of a job that is the runner's. Its number may be another one than the runner knows. */
async function resumptionOf(
  queries: Queries,
  job: HeldJob,
  ref: JobRef,
  holder: ConnectedHolder,
  { now, copyBy }: { readonly now: number; readonly copyBy: string | null },
): Promise<Resumption> {
  if (copyBy !== null) await noteOlderCopy(queries, job.id, copyBy)
  const copy = copyOf(job, copyBy)
  // The end of a copy is compared with the stored one, so it has to come.
  const verdict = copy?.isEnded ? 'continue' : verdictOn(job)
  if (verdict === 'stored') return { ...kept(ref, verdict), copy }
  const stored = (await findStreamLengths(queries, job.id)) ?? NOTHING_STORED
  const full = copy?.isEnded ? ALL_FULL : await findFullStreams(queries, job.id)
  if (!copy?.isEnded) {
    if (job.status === 'approve') await approvedBefore(queries, job, now)
    await noteHolder(queries, job.id, holder)
    await markClaimed(queries, job.id, holder.epoch)
  }
  const { output, events } = stored
  const { job_id, run_id } = ref
  const abort = !copy?.isEnded && job.abort_requested === 1
  const answer: ResumedJob = { job_id, run_id, verdict, output, events, abort }
  return { job: job.id === job_id ? answer : { ...answer, number: job.id }, stored, full, copy }
}

/** Whether a job of a list is reported from an older copy: by this list, or by one whose jobs are still being compared. */
function copyOf(job: HeldJob, copyBy: string | null): OlderCopy | null {
  const acceptedBy = copyBy ?? job.older_copy
  return acceptedBy === null ? null : { acceptedBy, isEnded: job.dispatch === 'done' }
}

/** A job that was deleted: nothing of it is made anew. What ran of one that a person deleted is to end. */
export function ofPastRun(ref: JobRef, how: PastRun): Resumption {
  if (how === 'stored') return kept(ref, 'stored')
  const answer = kept(ref, 'forget')
  return { ...answer, job: { ...answer.job, asked: true } }
}

/** An answer by which nothing of the job is sent. */
export function kept({ job_id, run_id }: JobRef, verdict: 'unknown' | 'stored' | 'forget'): Resumption {
  const job = { job_id, run_id, verdict, output: 0, events: 0, abort: false }
  return { job, stored: NOTHING_STORED, full: NONE_FULL, copy: null }
}

function verdictOn(job: HeldJob): 'continue' | 'stored' {
  if (job.dispatch === 'done') return 'stored'
  const status = jobStatusOf(job.status)
  return isEnded(status) && status !== 'abandoned' ? 'stored' : 'continue'
}

/** @param copyBy who accepted the older copy of a state folder that does not name the job; null: it is no copy */
async function resolveMissing(
  queries: Queries,
  job: HeldJob,
  now: number,
  copyBy: string | null = null,
): Promise<void> {
  if (copyBy !== null) {
    // It may have run after the copy was made: it must not run twice.
    const reason = missingReason(job.runner_name, copyBy)
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else if (job.dispatch === 'claimed') {
    // Which of the two cannot be told apart from here: a restored database knows nothing of what it had stored before.
    const why = 'its spool was lost, or this database was restored from a backup'
    const reason = `the runner '${job.runner_name ?? ''}' claimed the job and no longer knows it: ${why}`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await resolveUnclaimed(queries, job, now)
  }
}

/**
 * Settles a job that its runner refused or does not have: one that was not claimed goes back into the queue, if it still
 * is to run, one that was claimed is lost.
 */
export async function takeBack(queries: Queries, runnerKey: string, jobId: number, now: number): Promise<void> {
  const job = await findJobOfKey(queries, runnerKey, jobId)
  if (job) await resolveMissing(queries, job, now)
}

async function resolveUnclaimed(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.abort_requested === 1) {
    await abortUnstarted(queries, job.id, job.abort_requested_by, now)
  } else if (isEnded(jobStatusOf(job.status))) {
    // People saw it end; it must not start behind their backs.
    const reason = `given up on its way to the runner '${job.runner_name ?? ''}', which never started it`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await requeue(queries, job.id)
  }
}
