import type { Caller } from '../../auth/sessions/caller.js'
import { ConflictError, HoldfastError } from '../../errors.js'
import type { JobRow } from '../../store/jobs/jobs.js'
import { requireMayApprove, requireMayReject } from '../approve/decision-rights.js'
import { requireAbortable, requireDeletable } from '../end/actions.js'
import type { LaunchDependencies } from '../launch/launch.js'
import { requireManageable } from '../record/visibility.js'
import { requireMayRelaunch, requireRelaunchable } from '../relaunch/relaunch.js'

/** The actions on a job for which a page shows a button. */
export const JOB_ACTIONS = ['abort', 'abort_abandoned', 'approve', 'reject', 'relaunch', 'delete'] as const
/** One of {@link JOB_ACTIONS}. */
export type JobAction = (typeof JOB_ACTIONS)[number]

/** By action: true, or the code of the refusal that the caller would get now. */
export type Can = Readonly<Record<JobAction, true | string>>

/**
 * What the caller may do with a job now. Each answer comes from the check that the action itself makes. The action may
 * still be refused, because it checks again, and it looks at more: files, values, what an approval was asked for.
 */
export async function actionsOf(dependencies: LaunchDependencies, caller: Caller, job: JobRow): Promise<Can> {
  const { read } = dependencies.store
  const manageable = () => requireManageable(read, caller, job.id)
  return {
    abort: await answerOf(async () => {
      await manageable()
      requireAbortable(job, false)
    }),
    abort_abandoned: await answerOf(async () => {
      await manageable()
      // Only an abandoned job takes it.
      if (job.status !== 'abandoned') throw new ConflictError('not_abandoned', `Job ${job.id} is not abandoned`)
      requireAbortable(job, true)
    }),
    approve: await answerOf(() => requireMayApprove(caller, job)),
    reject: await answerOf(() => requireMayReject(caller, job)),
    relaunch: await answerOf(async () => {
      await requireMayRelaunch(dependencies, caller, job.id, false)
      requireRelaunchable(job)
    }),
    delete: await answerOf(async () => {
      await manageable()
      requireDeletable(job)
    }),
  }
}

/** True, or the code of a refusal. Other errors are thrown: they say nothing about the caller. */
async function answerOf(check: () => unknown): Promise<true | string> {
  try {
    await check()
    return true
  } catch (error) {
    if (error instanceof HoldfastError) return error.code
    throw error
  }
}
