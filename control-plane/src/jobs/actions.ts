import type { Caller } from '../auth/caller.js'
import type { Clock } from '../clock.js'
import { ConflictError, NotFoundError } from '../errors.js'
import type { LiveEvents } from '../live/live-events.js'
import { deleteJob, findJobSummary, requestAbort } from '../store/jobs.js'
import { appendServiceLine } from '../store/job-streams.js'
import type { Store } from '../store/store.js'
import { abortUnstarted } from './ending.js'
import type { RunnerPort } from './runner-port.js'
import { requireManageable } from './visibility.js'

export interface ActionDependencies {
  readonly store: Store
  readonly live: LiveEvents
  readonly clock: Clock
  readonly runners: RunnerPort
}

/**
 * Asks for the end of a running job. It answers when the request is stored; the job turns `aborted` when the runner
 * confirms that the process tree is gone, or at once when no runner has it yet.
 * @throws NotFoundError, ForbiddenError, ConflictError
 */
export async function abort(dependencies: ActionDependencies, caller: Caller, id: number): Promise<string> {
  const { store, live, clock, runners } = dependencies
  await requireManageable(store.read, caller, id)
  const now = clock.now()
  const { job, ended } = await store.write('jobs.abort', async (queries) => {
    const current = await findJobSummary(queries, id)
    if (!current) throw new NotFoundError('job_not_found', `There is no job ${id}`)
    if (current.status !== 'running')
      throw new ConflictError('not_running', `Job ${id} is not running but ${current.status}`)
    if (!(await requestAbort(queries, id, caller.username))) {
      throw new ConflictError('abort_pending', `The abort of job ${id} was asked for before`)
    }
    if (current.dispatch === 'queued')
      return { job: current, ended: await abortUnstarted(queries, id, caller.username, now) }
    await appendServiceLine(queries, id, `[WARNING]: Abort requested by ${caller.username}`)
    return { job: current, ended: false }
  })
  live.changed('jobs')
  if (!ended && job.runner_id !== null) runners.abortRequested(job.runner_id, id, job.run_id)
  return ended ? `Job ${id} was aborted before it started` : `The abort of job ${id} was requested`
}

/**
 * Deletes an ended job with its subjobs, output and events.
 * @throws NotFoundError, ForbiddenError, ConflictError
 */
export async function remove(dependencies: ActionDependencies, caller: Caller, id: number): Promise<string> {
  const { store, live } = dependencies
  const job = await requireManageable(store.read, caller, id)
  const deleted = await store.write('jobs.delete', (queries) => deleteJob(queries, id))
  if (!deleted) throw new ConflictError('not_ended', `Job ${id} has not ended but is ${job.status}`)
  live.changed('jobs')
  return `Job ${id} was deleted`
}
