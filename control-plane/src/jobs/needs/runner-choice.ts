import type { Caller } from '../../auth/sessions/caller.js'
import { ForbiddenError } from '../../errors.js'
import type { JobSettings } from '../../forms/form.js'
import { type Runner, findDefaultRunner, findRunnerByName } from '../../store/runners/runners.js'
import type { Queries } from '../../store/store.js'

/** The runner of a job, and the reason why the job cannot run there, if there is one. */
export interface RunnerChoice {
  readonly runner: Runner | null
  readonly problem: string | null
}

/** The runner that a form or step names, or else the default runner. A job never gets another runner instead. */
export async function chooseRunner(
  queries: Queries,
  { runner: name }: Pick<JobSettings, 'runner'>,
): Promise<RunnerChoice> {
  const runner = name === null ? await findDefaultRunner(queries) : await findRunnerByName(queries, name)
  if (!runner) {
    const problem =
      name === null
        ? 'There is no default runner: choose one (holdfast runner default <name>), or name one in the form'
        : `The runner '${name}' that the form names is not known`
    return { runner: null, problem }
  }
  return { runner, problem: runnerProblem(runner) }
}

/** @throws ForbiddenError when the roles limit runners and this one is not among them */
export function requireRunnerAllowed(
  { runner }: RunnerChoice,
  launcher: Pick<Caller, 'isAdmin' | 'allowedRunners'>,
): void {
  if (!runner || launcher.isAdmin || !launcher.allowedRunners || launcher.allowedRunners.includes(runner.name)) return
  throw new ForbiddenError('runner_not_allowed', `Your roles do not allow jobs on the runner '${runner.name}'`)
}

/**
 * The reason why a runner can get no jobs at all, or null. A runner that is offline, full or draining can: the job
 * waits.
 */
export function runnerProblem(runner: Pick<Runner, 'name' | 'state' | 'enabled'>): string | null {
  if (runner.state !== 'approved') return `The runner '${runner.name}' is not approved`
  return runner.enabled ? null : `The runner '${runner.name}' is turned off`
}
