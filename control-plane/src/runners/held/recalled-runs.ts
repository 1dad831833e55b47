import { type AgentMessage, type EndRecord, ProtocolError, type StreamName } from '@holdfast/protocol'
import { endJob } from '../../jobs/job-port.js'
import { type HeldJob, findJobOfKey } from '../../store/jobs/dispatch.js'
import { findFullStreams, findStreamLengths } from '../../store/jobs/job-streams.js'
import type { Queries, Store } from '../../store/store.js'
import type { Clock } from '../../time/clock.js'
import { digestsOfStored } from '../streams/stored-digests.js'
import { storeEnd } from '../streams/stored-end.js'
import { fullWords, isCut } from '../streams/stream-limits.js'
import type { JobRef } from './held-jobs.js'
import { resolveMissing } from './spooled-jobs.js'

/** What an agent remembers of a run that it did not list. */
export type RecalledMessage = Extract<AgentMessage, { type: 'recalled' }>

/**
 * Runs that this database gives to a runner, and that the runner did not list. Nothing is decided from a list alone: the
 * runner is asked. It remembers for a long time how its runs ended. A run that it has never had may go back into the
 * queue, or ends as lost. Between question and answer the job stays as it is. The next connection asks again.
 */
export function createRecalledRuns(
  deps: { readonly store: Store; readonly clock: Clock },
  runner: { readonly fingerprint: string; readonly runnerName: string },
) {
  const asked = new Map<number, string>()
  return {
    /** True while an answer about the job is waited for. */
    isAsked: (jobId: number): boolean => asked.has(jobId),
    ask(refs: readonly JobRef[]): void {
      for (const { job_id, run_id } of refs) asked.set(job_id, run_id)
    },
    /**
     * Takes an answer.
     * @param isOffered the run was offered on this connection, and the answer came instead of a claim
     * @throws ProtocolError `not_yours` for a run that the agent was not asked about
     */
    async take(message: RecalledMessage, isOffered: boolean): Promise<void> {
      const { job_id: jobId, run_id: runId, known, record } = message
      if (asked.get(jobId) !== runId && !isOffered) {
        throw new ProtocolError('not_yours', `job ${jobId} is not one that was asked about`)
      }
      asked.delete(jobId)
      if (record !== null && record.run_id !== runId) {
        throw new ProtocolError('bad_message', `the end of job ${jobId} is that of another run`)
      }
      const end = record === null ? null : await compared(deps.store.read, jobId, record)
      await deps.store.write('runners.recalled', async (queries) => {
        const now = deps.clock.now()
        const job = await findJobOfKey(queries, runner.fingerprint, jobId)
        if (job?.run_id !== runId) return
        if (end !== null) await storeEnd(queries, jobId, end, end, now)
        else if (known) await endUnknown(queries, job, runner.runnerName, now)
        else await resolveMissing(queries, job, now)
      })
    },
  }
}

/** The runs of jobs that an agent is asked about. */
export type RecalledRuns = ReturnType<typeof createRecalledRuns>

/** The run is over, and the runner does not know how. For example its folder could not be written. */
function endUnknown(queries: Queries, job: HeldJob, runner: string, now: number): Promise<unknown> {
  const reason = `the runner '${runner}' knows that the run is over, and not how it ended`
  return endJob(queries, job.id, { status: 'failed', reason, detail: null }, now)
}

/** Compares an end record with what is stored of the job. The runner has nothing more to send. */
async function compared(queries: Queries, jobId: number, record: EndRecord) {
  const stored = (await findStreamLengths(queries, jobId)) ?? { output: 0, events: 0, eventsCount: 0 }
  const full = await findFullStreams(queries, jobId)
  const digests = await digestsOfStored(queries, jobId, {
    output: Math.min(stored.output, record.output.length),
    events: Math.min(stored.events, record.events.length),
  })
  const words = fullWords(record, stored, full)
  let isWhole = words.length === 0
  for (const stream of ['output', 'events'] as const) {
    if (isCut(record, stored, full, stream)) continue
    const missing = record[stream].length - stored[stream]
    if (missing <= 0 && digests[stream] === record[stream].sha256) continue
    isWhole = false
    words.push(missing > 0 ? lostWords(stream, missing) : `the stored ${stream} differs from what the runner recorded`)
  }
  return { record, shown: digests.shown, words, isWhole }
}

function lostWords(stream: StreamName, bytes: number): string {
  return `this database has lost ${bytes} bytes of ${stream}, which the runner does not keep any more`
}
