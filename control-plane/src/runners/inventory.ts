import type { ResumedJob, SpooledJob } from '@holdfast/protocol'
import type { Clock } from '../clock.js'
import { approvedBefore } from '../jobs/approving.js'
import { abortUnstarted, endJob } from '../jobs/ending.js'
import { isEnded, jobStatusOf } from '../jobs/status.js'
import { type HeldJob, findHeldJobs, findJobsOfRunner, markClaimed, requeue } from '../store/dispatch.js'
import { type StreamLengths, findFullStreams, findStreamLengths } from '../store/job-streams.js'
import type { Queries, Store } from '../store/store.js'
import type { RunnerConnection } from './connection.js'
import { type FullStreams, NONE_FULL } from './stream-limits.js'

/** What becomes of a job in an agent's spool, and what is stored of it. */
export interface Resumption {
  readonly job: ResumedJob
  readonly stored: StreamLengths
  readonly full: FullStreams
}

const NOTHING_STORED: StreamLengths = { output: 0, events: 0, eventsCount: 0 }

/**
 * Compares an agent's spool with the database after a (re)connect (spec runner.md section 2): jobs that are not ours
 * are forgotten, jobs that the agent never claimed go back into the queue, jobs that it claimed and lost are ended with
 * that reason, and all others go on from what is stored.
 */
export function answerInventory(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { runnerId, epoch }: Pick<RunnerConnection, 'runnerId' | 'epoch'>,
  spooled: readonly SpooledJob[],
): Promise<Resumption[]> {
  // All of it in its turn with the writes: what an older connection of the runner still had under way is stored by then.
  return store.write('runners.inventory', async (queries) => {
    const ids = spooled.map((job) => job.job_id)
    const known = new Map((await findJobsOfRunner(queries, runnerId, ids)).map((job) => [job.id, job]))
    const answers: Resumption[] = []
    for (const { job_id, run_id } of spooled) {
      const job = known.get(job_id)
      const verdict = verdictOn(job, run_id)
      // A list may name thousands of jobs that are none of ours.
      const isOurs = verdict === 'continue'
      const stored = (isOurs ? await findStreamLengths(queries, job_id) : null) ?? NOTHING_STORED
      const full = isOurs ? await findFullStreams(queries, job_id) : NONE_FULL
      const abort = verdict === 'continue' && job?.abort_requested === 1
      answers.push({
        job: { job_id, run_id, verdict, output: stored.output, events: stored.events, abort },
        stored,
        full,
      })
      if (verdict === 'continue') {
        if (job?.status === 'approve') await approvedBefore(queries, job, clock.now())
        await markClaimed(queries, job_id, epoch)
      }
    }
    const runIds = new Map(spooled.map((job) => [job.job_id, job.run_id]))
    for (const job of await findHeldJobs(queries, runnerId)) {
      if (runIds.get(job.id) !== job.run_id) await settleMissing(queries, job, clock.now())
    }
    return answers
  })
}

function verdictOn(job: HeldJob | undefined, runId: string): ResumedJob['verdict'] {
  if (job?.run_id !== runId) return 'forget'
  if (job.dispatch === 'done') return 'stored'
  const status = jobStatusOf(job.status)
  return isEnded(status) && status !== 'abandoned' ? 'stored' : 'continue'
}

async function settleMissing(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.dispatch === 'claimed') {
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
export async function takeBack(queries: Queries, runnerId: number, jobId: number, now: number): Promise<void> {
  for (const job of await findJobsOfRunner(queries, runnerId, [jobId])) {
    if (job.dispatch === 'offered' || job.dispatch === 'claimed') await settleMissing(queries, job, now)
  }
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
