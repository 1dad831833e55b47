import type { Caller } from '../../auth/sessions/caller.js'
import { shownName } from '../../auth/sessions/shown-name.js'
import type { Clock } from '../../time/clock.js'
import { ConflictError, NotFoundError } from '../../errors.js'
import type { LiveEvents } from '../../live/live-events.js'
import { type JobSummaryRow, deleteJob, findJobSummary, requestAbort } from '../../store/jobs/jobs.js'
import { appendServiceLine } from '../../store/jobs/job-streams.js'
import type { Store } from '../../store/store.js'
import type { UploadSweeper } from '../../uploads/sweeper.js'
import { abortUnstarted } from './ending.js'
import { isEnded, jobStatusOf } from '../record/status.js'
import { type JobEnds, type SequencePort, isSequence } from '../record/sequence-port.js'
import type { JobStatus } from '../../words/job-status.js'
import { requireManageable } from '../record/visibility.js'
import type { RunnerPort } from '../record/runner-port.js'

/** What abort and delete need of other parts. */
export interface ActionDependencies {
  readonly store: Store
  readonly live: LiveEvents
  readonly clock: Clock
  readonly runners: RunnerPort
  readonly sequences: Pick<SequencePort, 'advance'> & JobEnds
  readonly uploads: Pick<UploadSweeper, 'sweepSoon'>
}

/**
 * Asks for the end of a running job. The call returns when the request is stored. The job gets the status `aborted`
 * when its runner confirms that all its processes are gone. It gets it at once when no runner has the job yet. A parent
 * job gets it when all its child jobs have ended. The request stays with an abandoned job. Its runner gets it at once,
 * or when it connects. A job that ended before the request arrived keeps its real end, because only the report of the
 * runner makes a job `aborted`.
 * @param alsoAbandoned ask for the end of an abandoned job, too
 * @throws NotFoundError, ForbiddenError, ConflictError
 */
export async function abort(
  dependencies: ActionDependencies,
  caller: Caller,
  id: number,
  alsoAbandoned = false,
): Promise<string> {
  const { store, live, clock, runners, sequences } = dependencies
  await requireManageable(store.read, caller, id)
  const now = clock.now()
  const statuses = abortableStatuses(alsoAbandoned)
  // Errors are thrown after the write. An error inside a write would run the whole group of writes again.
  const { job, requested, ended } = await store.write('jobs.abort', async (queries) => {
    const current = await findJobSummary(queries, id)
    if (!current || !(await requestAbort(queries, id, shownName(caller), statuses))) {
      return { job: current, requested: false, ended: false }
    }
    // Only the runner can say that no process of an abandoned job runs any more.
    const isUnstarted = current.dispatch === 'queued' || current.dispatch === 'parked'
    if (isUnstarted && current.status === 'running') {
      return { job: current, requested: true, ended: await abortUnstarted(queries, id, shownName(caller), now) }
    }
    await appendServiceLine(queries, id, `[WARNING]: Abort requested by ${shownName(caller)}`)
    return { job: current, requested: true, ended: false }
  })
  if (!job) throw gone(id)
  if (!requested) {
    requireAbortable(job, alsoAbandoned)
    throw new ConflictError('abort_pending', `The abort of job ${id} was asked for before`)
  }
  live.changed('jobs')
  if (ended) sequences.jobEnded()
  else if (isSequence(job)) sequences.advance(id)
  else if (job.runner_id !== null) runners.abortRequested(job.runner_id, id, job.run_id)
  if (ended) return `Job ${id} was aborted before it started`
  const isKept = job.status === 'abandoned'
  return `The abort of job ${id} was requested${isKept ? ' and is kept: its runner carries it out when it has the job' : ''}`
}

function abortableStatuses(alsoAbandoned: boolean): readonly JobStatus[] {
  return alsoAbandoned ? ['running', 'abandoned'] : ['running']
}

/** Checks whether the state of a job allows an abort. @throws ConflictError */
export function requireAbortable(job: JobSummaryRow, alsoAbandoned: boolean): void {
  if (!abortableStatuses(alsoAbandoned).some((status) => status === job.status)) {
    throw new ConflictError('not_running', whyNotAborted(job))
  }
  if (job.abort_requested === 1) {
    throw new ConflictError('abort_pending', `The abort of job ${job.id} was asked for before`)
  }
}

/**
 * Checks whether the state of a job allows deleting it. A running child job may still prevent that.
 * @throws ConflictError
 */
export function requireDeletable(job: JobSummaryRow): void {
  if (!isEnded(jobStatusOf(job.status))) throw new ConflictError('not_ended', whyNotDeleted(job, null))
  // The parent job would still name the deleted job, but would have no job or variables to show for it.
  if (job.parent_id !== null) throw new ConflictError('part_of_a_job', whyChildStays(job, job.parent_id))
}

function whyNotAborted({ id, status }: JobSummaryRow): string {
  const why = `Job ${id} is not running but ${status}`
  if (status !== 'abandoned') return why
  return `${why}. It may still run on its runner: with abandoned=true (holdfast job abort ${id} --abandoned) its abort is kept until the runner is there`
}

/**
 * Deletes an ended job with its child jobs, output and events. A child job is deleted with its parent job only.
 * @throws NotFoundError, ForbiddenError, ConflictError
 */
export async function removeJob(dependencies: ActionDependencies, caller: Caller, id: number): Promise<string> {
  const { store, live, clock, uploads } = dependencies
  const asked = await requireManageable(store.read, caller, id)
  if (isEnded(jobStatusOf(asked.status))) requireDeletable(asked)
  const { job, parent, deleted } = await store.write('jobs.delete', async (queries) => {
    const current = await findJobSummary(queries, id)
    const parentId = current?.parent_id ?? null
    return {
      job: current,
      parent: parentId === null ? null : await findJobSummary(queries, parentId),
      deleted: await deleteJob(queries, id, { time: clock.now() }),
    }
  })
  if (!job) throw gone(id)
  if (!deleted) throw new ConflictError('not_ended', whyNotDeleted(job, parent))
  live.changed('jobs')
  uploads.sweepSoon()
  return `Job ${id} was deleted`
}

function whyNotDeleted(job: JobSummaryRow, parent: JobSummaryRow | null): string {
  if (!isEnded(jobStatusOf(job.status))) return `Job ${job.id} has not ended but is ${job.status}`
  if (parent && !isEnded(jobStatusOf(parent.status))) {
    return `Job ${job.id} is a child job of job ${parent.id}, which has not ended but is ${parent.status}`
  }
  return `A child job of job ${job.id} has not ended`
}

function whyChildStays({ id }: JobSummaryRow, parentId: number): string {
  return `Job ${id} is a child job of job ${parentId} and goes with it: delete job ${parentId}`
}

/** The error for a job that somebody else deleted first. */
function gone(id: number): NotFoundError {
  return new NotFoundError('job_not_found', `There is no job ${id}`)
}
