import type { ResumedJob, SpooledJob } from '@holdfast/protocol'
import type { Clock } from '../clock.js'
import { abortUnstarted, endJob } from '../jobs/ending.js'
import { isEnded, jobStatusOf } from '../jobs/status.js'
import { type HeldJob, findHeldJobs, findJobsOfRunner, markClaimed, requeue } from '../store/dispatch.js'
import { type StreamLengths, findStreamLengths } from '../store/job-streams.js'
import type { Queries, Store } from '../store/store.js'

/** What becomes of a job in an agent's spool, and what is stored of it. */
export interface Resumption {
  readonly job: ResumedJob
  readonly stored: StreamLengths
}

const NOTHING_STORED: StreamLengths = { output: 0, events: 0, eventsCount: 0 }

/**
 * Compares an agent's spool with the database after a (re)connect (spec runner.md section 2): jobs that are not ours
 * are forgotten, jobs that the agent never claimed go back into the queue, jobs that it claimed and lost are ended with
 * that reason, and all others go on from what is stored.
 */
export async function answerInventory(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  runnerId: number,
  spooled: readonly SpooledJob[],
): Promise<Resumption[]> {
  const ids = spooled.map((job) => job.job_id)
  const known = new Map((await findJobsOfRunner(store.read, runnerId, ids)).map((job) => [job.id, job]))
  const answers: Resumption[] = []
  for (const { job_id, run_id } of spooled) {
    const job = known.get(job_id)
    const verdict = verdictOn(job, run_id)
    const stored = (await findStreamLengths(store.read, job_id)) ?? NOTHING_STORED
    const abort = verdict === 'continue' && job?.abort_requested === 1
    answers.push({ job: { job_id, run_id, verdict, output: stored.output, events: stored.events, abort }, stored })
  }
  const runIds = new Map(spooled.map((job) => [job.job_id, job.run_id]))
  const held = await findHeldJobs(store.read, runnerId)
  const missing = held.filter((job) => runIds.get(job.id) !== job.run_id)
  const unmarked = answers.filter(
    ({ job }) => job.verdict === 'continue' && known.get(job.job_id)?.dispatch !== 'claimed',
  )
  if (missing.length + unmarked.length > 0) {
    await store.write('runners.inventory', async (queries) => {
      for (const { job } of unmarked) await markClaimed(queries, job.job_id)
      for (const job of missing) await settleMissing(queries, job, clock.now())
    })
  }
  return answers
}

function verdictOn(job: HeldJob | undefined, runId: string): ResumedJob['verdict'] {
  if (job?.run_id !== runId) return 'forget'
  if (job.dispatch === 'done') return 'stored'
  const status = jobStatusOf(job.status)
  return isEnded(status) && status !== 'abandoned' ? 'stored' : 'continue'
}

async function settleMissing(queries: Queries, job: HeldJob, now: number): Promise<void> {
  if (job.dispatch === 'claimed') {
    const reason = `the RTE '${job.runner_name ?? ''}' claimed the job and no longer knows it: its spool was lost`
    await endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
  } else if (job.abort_requested === 1) {
    await abortUnstarted(queries, job.id, job.abort_requested_by, now)
  } else {
    await requeue(queries, job.id)
  }
}
