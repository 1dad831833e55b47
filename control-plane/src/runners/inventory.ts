import type { ResumedJob, SpooledJob } from '@holdfast/protocol'
import type { Clock } from '../clock.js'
import { approvedBefore } from '../jobs/approving.js'
import { abortUnstarted, endJob } from '../jobs/ending.js'
import { isEnded, jobStatusOf } from '../jobs/status.js'
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
} from '../store/dispatch.js'
import { type StreamLengths, findFullStreams, findStreamLengths } from '../store/job-streams.js'
import type { Queries, Store } from '../store/store.js'
import { takeAcceptedCopy } from '../store/runners.js'
import type { RunnerConnection } from './connection.js'
import { type OlderCopy, missingReason } from './older-copy.js'
import { ALL_FULL, type FullStreams, NONE_FULL } from './stream-limits.js'

/** What becomes of a job in an agent's spool, and what is stored of it. */
export interface Resumption {
  readonly job: ResumedJob
  readonly stored: StreamLengths
  readonly full: FullStreams
  /** The job is reported from an older copy of the state folder; null: it is not. */
  readonly copy: OlderCopy | null
}

const NOTHING_STORED: StreamLengths = { output: 0, events: 0, eventsCount: 0 }

/**
 * Compares an agent's spool with the database after a (re)connect: jobs that are not ours are forgotten, jobs that the
 * agent never claimed go back into the queue, jobs that it claimed and lost are ended with that reason, and all others go
 * on from what is stored. Jobs are known by run and key. So those of a runner that was removed, or that replaced its keys,
 * are found again and go on. A list that comes from an older copy of the state folder, which an admin accepted, says less:
 * what is stored stays, and what it does not name may have run.
 */
export function answerInventory(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { runnerId, keys, epoch }: JobHolder & Pick<RunnerConnection, 'epoch'>,
  spooled: readonly SpooledJob[],
): Promise<Resumption[]> {
  // All of it in its turn with the writes: what an older connection of the runner still had under way is stored by then.
  return store.write('runners.inventory', async (queries) => {
    const holder = { runnerId, keys: await ownKeys(queries, { runnerId, keys }) }
    await takeOverJobs(queries, holder)
    const copyBy = await takeAcceptedCopy(queries, runnerId)
    const known = await findKnown(queries, holder, spooled)
    const answers: Resumption[] = []
    for (const { job_id, run_id } of spooled) {
      const job = known.get(run_id)
      if (job?.id === job_id && copyBy !== null) await noteOlderCopy(queries, job_id, copyBy)
      const copy = copyOf(job, job_id, copyBy)
      // The end of a copy is compared with the stored one, so it has to come.
      const verdict = copy?.isEnded ? 'continue' : verdictOn(job, job_id)
      // A list may name thousands of jobs that are none of ours.
      const isOurs = verdict === 'continue'
      const stored = (isOurs ? await findStreamLengths(queries, job_id) : null) ?? NOTHING_STORED
      const full = isOurs ? await findFullStreams(queries, job_id) : NONE_FULL
      const abort = isOurs && !copy?.isEnded && job?.abort_requested === 1
      answers.push({
        job: { job_id, run_id, verdict, output: stored.output, events: stored.events, abort },
        stored,
        full: copy?.isEnded ? ALL_FULL : full,
        copy,
      })
      if (isOurs && !copy?.isEnded) {
        if (job?.status === 'approve') await approvedBefore(queries, job, clock.now())
        await noteHolder(queries, job_id, holder)
        await markClaimed(queries, job_id, epoch)
      }
    }
    const runIds = new Set(spooled.map((job) => job.run_id))
    for (const job of await findJobsOfKey(queries, holder.keys[0])) {
      if (!runIds.has(job.run_id)) await settleMissing(queries, job, clock.now(), copyBy)
    }
    return answers
  })
}

/**
 * The jobs of a spool by their run, as far as they are its runner's. A run has a random name that only its runner is told;
 * so it says enough where no key is noted, in a database that was restored or is older than the keys of jobs.
 */
async function findKnown(
  queries: Queries,
  { keys }: JobHolder,
  spooled: readonly SpooledJob[],
): Promise<Map<string, HeldJob>> {
  const runIds = spooled.map((job) => job.run_id)
  const jobs = await findJobsOfRuns(queries, runIds)
  const its = jobs.filter(({ runner_key: key }) => key === null || keys.includes(key))
  return new Map(its.map((job) => [job.run_id, job]))
}

/** Whether a job of a list is reported from an older copy: by this list, or by one whose jobs are still being compared. */
function copyOf(job: HeldJob | undefined, jobId: number, copyBy: string | null): OlderCopy | null {
  const acceptedBy = copyBy ?? job?.older_copy ?? null
  if (job?.id !== jobId || acceptedBy === null) return null
  return { acceptedBy, isEnded: job.dispatch === 'done' }
}

function verdictOn(job: HeldJob | undefined, jobId: number): ResumedJob['verdict'] {
  if (job?.id !== jobId) return 'forget'
  if (job.dispatch === 'done') return 'stored'
  const status = jobStatusOf(job.status)
  return isEnded(status) && status !== 'abandoned' ? 'stored' : 'continue'
}

/** @param copyBy who accepted the older copy of a state folder that does not name the job; null: it is no copy */
async function settleMissing(queries: Queries, job: HeldJob, now: number, copyBy: string | null = null): Promise<void> {
  if (copyBy !== null) {
    // It may have run after the copy was made: it must not run twice.
    const reason = missingReason(job.runner_name, copyBy)
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else if (job.dispatch === 'claimed') {
    // Which of the two cannot be told apart from here: a restored database knows nothing of what it had stored before.
    const why = 'its spool was lost, or this database was restored from a backup'
    const reason = `the RTE '${job.runner_name ?? ''}' claimed the job and no longer knows it: ${why}`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await settleUnclaimed(queries, job, now)
  }
}

/**
 * Settles a job that its runner refused or does not have: one that was not claimed goes back into the queue, if it still
 * is to run, one that was claimed is lost.
 */
export async function takeBack(queries: Queries, runnerKey: string, jobId: number, now: number): Promise<void> {
  const job = await findJobOfKey(queries, runnerKey, jobId)
  if (job) await settleMissing(queries, job, now)
}

async function settleUnclaimed(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.abort_requested === 1) {
    await abortUnstarted(queries, job.id, job.abort_requested_by, now)
  } else if (isEnded(jobStatusOf(job.status))) {
    // People saw it end; it must not start behind their backs.
    const reason = `given up on its way to the RTE '${job.runner_name ?? ''}', which never started it`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else {
    await requeue(queries, job.id)
  }
}
