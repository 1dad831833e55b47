import { ConflictError } from '../../../errors.js'
import {
  type Runner,
  type RunnerUpdate,
  clearDefaultRunner,
  countUnfinishedJobs,
  deleteRunner,
  findDeniedRequest,
  findRunnerByName,
  updateRunner,
} from '../../../store/runners/runners.js'
import type { Queries } from '../../../store/store.js'
import { type RunnerMove, stateAfter } from './states.js'

/**
 * The settings that an admin may change. A setting that is left out stays. With `maxJobs: null` the agent's own number
 * counts.
 */
export interface RunnerChanges {
  /** The name that forms and roles use. The agent may have been started with another one. */
  readonly name?: string
  readonly enabled?: boolean
  readonly isDefault?: boolean
  readonly description?: string
  readonly maxJobs?: number | null
  /** True: the request stays when its socket is gone. */
  readonly keep?: boolean
}

/** Only the key that the admin compared is approved. Meanwhile a request with another key may have taken its place. */
export function requireSameKey({ name, fingerprint }: Runner, compared: string | undefined): void {
  if (compared === undefined || compared === fingerprint) return
  throw new ConflictError(
    'other_fingerprint',
    `Runner ${name} has the fingerprint ${fingerprint}, not ${compared}: it is another host or has a new key`,
  )
}

/** Makes a legal move, with other changes; null when the row has gone. @throws ConflictError */
export async function moveRunner(
  queries: Queries,
  runner: Runner,
  by: RunnerMove,
  changes: RunnerUpdate,
): Promise<Runner | null> {
  const state = stateAfter(runner.state, by)
  if (state !== 'gone') return updateRunner(queries, runner.id, runner.state, { ...changes, state })
  await deleteRunner(queries, runner.id)
  if (runner.state !== 'denied') await freeName(queries, runner.name)
  return null
}

/** A name belongs to nobody any more. The runner that was refused last because of this name waits for approval now. */
async function freeName(queries: Queries, name: string): Promise<void> {
  const denied = await findDeniedRequest(queries, name)
  if (denied) await moveRunner(queries, denied, 'free', {})
}

/** Removes the row. @throws ConflictError when jobs of the runner have not ended */
export async function removeRunner(queries: Queries, runner: Runner): Promise<Runner | null> {
  const unfinished = await countUnfinishedJobs(queries, runner.id)
  if (unfinished > 0) {
    throw new ConflictError('runner_busy', `${unfinished} of its jobs are not finished; abort them or wait`)
  }
  return moveRunner(queries, runner, 'remove', {})
}

/** Accepts the process that was refused as a clone as the right one. @throws ConflictError when there is none */
export function acceptCopy(queries: Queries, runner: Runner, by: string): Promise<Runner | null> {
  const { state, cloneGeneration, cloneInstance, instance } = runner
  if (state !== 'approved') {
    throw new ConflictError('runner_state', `A runner in state ${state} has no copy to be accepted`)
  }
  if (cloneGeneration === null || cloneInstance === null) {
    throw new ConflictError('no_clone', 'No other process was refused for continuing the identity of this runner')
  }
  return updateRunner(queries, runner.id, state, {
    generation: cloneGeneration,
    instance: cloneInstance,
    replaced_instance: instance,
    copy_accepted_by: by,
    draining: 0,
    clone_seen_at: null,
    clone_host: null,
    clone_ip: null,
    clone_generation: null,
    clone_instance: null,
  })
}

/** Stores the settings of an admin. @throws ConflictError when the state of the runner does not allow it */
export async function change(
  queries: Queries,
  runner: Runner,
  changes: RunnerChanges,
  by: string,
): Promise<Runner | null> {
  const { name, enabled, isDefault, description, maxJobs, keep } = changes
  if ((enabled !== undefined || isDefault !== undefined) && runner.state !== 'approved') {
    throw new ConflictError('runner_state', 'Only an approved runner can be switched on or off or be the default')
  }
  if (keep !== undefined && runner.state !== 'waiting') {
    throw new ConflictError('runner_state', 'Only a request that waits can be kept; this one was decided')
  }
  if (name !== undefined) await requireRenameAllowed(queries, runner, name)
  if (isDefault) await clearDefaultRunner(queries)
  const changed = await updateRunner(queries, runner.id, runner.state, {
    // One column keeps its value, because an SQL statement without any change would not be complete.
    state: runner.state,
    enabled: enabled === undefined ? undefined : enabled ? 1 : 0,
    is_default: isDefault === undefined ? undefined : isDefault ? 1 : 0,
    description,
    max_jobs: maxJobs,
    kept_by: keep === undefined ? undefined : keep ? by : null,
    name,
  })
  if (changed !== null && changed.name !== runner.name) await freeName(queries, runner.name)
  return changed
}

/** A request keeps the name that its agent asks for. An approved key keeps the name that an admin gave it. */
async function requireRenameAllowed(queries: Queries, runner: Runner, name: string): Promise<void> {
  if (runner.state !== 'approved' && runner.state !== 'revoked') {
    throw new ConflictError('runner_state', 'Approve the runner first: a request has the name that its agent asks for')
  }
  const owner = await findRunnerByName(queries, name)
  if (owner === null || owner.id === runner.id) return
  throw new ConflictError('runner_name_taken', `The name ${name} belongs to runner ${owner.id} (${owner.state})`)
}
