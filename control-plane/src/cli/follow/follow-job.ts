import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Job, JobRecord } from '@holdfast/client'
import { isPassingFailure } from '../errors.js'
import { mayStillEnd, exitCodeOf } from '../exit-codes.js'
import { fetchJob, readOutputPiece } from './job-reader.js'
import { createRunCheck } from './same-run.js'
import { createWake } from './wake.js'
import { WATCH_AGAIN_MS, watchChanges } from './watch-changes.js'

/** Takes what is seen of a job that is followed. */
export interface FollowSink {
  /** The job with its status, at the start and whenever the status has changed. */
  status(job: JobRecord): Promise<void>
  /** The next bytes of output. They come in order, none twice, and none is left out. */
  output(bytes: Uint8Array, offset: number): Promise<void>
  /** How long a job that runs will still take. Comes after its output, each time that the job was read again. */
  left?(estimate: NonNullable<Job['estimate']>): Promise<void>
  connectionLost(error: Error): Promise<void>
  connectionBack(): Promise<void>
}

/** What counts as the end of a job. `any`: also `abandoned`. `real`: only the real outcome, which may come after that. */
export type FollowEnd = 'any' | 'real'

/**
 * Follows a job to its end and returns it as it ended.
 *
 * The live events only say that some job changed. The job and its output are then read again, from the byte after the last
 * one that was shown. So a broken connection does no harm: when the control plane is away (a restart), this waits and goes
 * on where it was. It ends with an error only when the server was never reached, or when the server refuses.
 *
 * A job is known by its run, not by its number. A restored database may give a number a second time. Nothing of another run
 * is shown then.
 *
 * The status is read before the output. The service stores all output of a job before its final status. So the output is
 * complete when it is read after a final status.
 * @throws CliError; the reason of `signal` when it aborts
 */
export async function followJob(
  client: Client,
  jobId: number,
  sink: FollowSink,
  until: FollowEnd,
  signal: AbortSignal,
): Promise<JobRecord> {
  const wake = createWake()
  const done = new AbortController()
  const watch = watchChanges(client, 'jobs', wake.ring, AbortSignal.any([signal, done.signal])).catch(wake.fail)
  const position: Position = { requireSameRun: createRunCheck(jobId), offset: 0, status: '', step: null }
  let lost = false
  try {
    for (;;) {
      try {
        const job = await readNews(client, jobId, position, sink, signal)
        if (lost) await sink.connectionBack()
        lost = false
        if (exitCodeOf(job.status) !== null && (until === 'any' || !mayStillEnd(job.status))) return job
        await wake.heard(signal)
        signal.throwIfAborted()
      } catch (error) {
        // Without a first answer there is nothing to go on with, so the command fails.
        if (!isPassingFailure(error) || position.status === '') throw error
        if (!lost) await sink.connectionLost(error)
        lost = true
        await delay(WATCH_AGAIN_MS, undefined, { signal }).catch(() => signal.throwIfAborted())
      }
    }
  } finally {
    done.abort()
    await watch
  }
}

/** How far a job was followed. */
interface Position {
  readonly requireSameRun: ReturnType<typeof createRunCheck>
  offset: number
  status: string
  step: string | null
}

/** Shows what is new since the last time. `position` moves on with each piece, so it is right also when a later one fails. */
async function readNews(
  client: Client,
  jobId: number,
  position: Position,
  sink: FollowSink,
  signal: AbortSignal,
): Promise<JobRecord> {
  const job = await fetchJob(client, jobId, signal)
  position.requireSameRun(job.run_id ?? null)
  // A parent job may wait for one approval after the other.
  if (job.status !== position.status || (job.status === 'approve' && job.step !== position.step)) {
    position.status = job.status
    position.step = job.step
    await sink.status(job)
  }
  for (;;) {
    const piece = await readOutputPiece(client, jobId, position.offset, signal)
    position.requireSameRun(piece.runId)
    if (piece.bytes.length === 0) break
    await sink.output(piece.bytes, position.offset)
    position.offset = piece.nextOffset
  }
  if (job.estimate) await sink.left?.(job.estimate)
  return job
}
