import { ConflictError, NotFoundError } from '../../errors.js'
import { type Nodes, isElsewhere } from '../../nodes/nodes.js'
import {
  type Runner,
  type RunnerUpdate,
  clearDefaultRunner,
  countUnfinishedJobs,
  deleteRunner,
  findDefaultRunner,
  findDeniedRequest,
  findRunner,
  findRunnerByName,
  listRunners,
  updateRunner,
} from '../../store/runners/runners.js'
import type { Queries } from '../../store/store.js'
import type { AgentConnection } from '../socket/agent-connection.js'
import type { HubOptions } from './hub-options.js'
import { approvedNow } from './join-decision.js'
import type { KeyedQueue } from './keyed-queue.js'
import type { Registry } from './registry.js'
import { type RunnerMove, stateAfter } from './runner-states.js'

/** A runner as an admin sees it: its row, and whether it is connected to a living node. */
export interface RunnerView {
  readonly runner: Runner
  readonly online: boolean
}

/**
 * What became of the default runner by an action. `made`: this runner is the default one now. `lost`: this runner was
 * it, and now there is none. `missing`: this runner was let in, and there is none. Null: nothing changed.
 */
export type DefaultChange = 'made' | 'lost' | 'missing' | null

/** What an admin may set. What is left out stays. With `maxJobs: null` the agent's own number counts. */
export interface RunnerChanges {
  /** The name that forms and roles use. The agent may have been started with another one. */
  readonly name?: string
  readonly enabled?: boolean
  readonly isDefault?: boolean
  readonly description?: string
  readonly maxJobs?: number | null
  /** True: a request stays when its socket goes. */
  readonly keep?: boolean
}

/**
 * What people do with runners. Every action is one conditional write. After it, the connection is brought in line with
 * the stored row, and the change is announced. Each action throws NotFoundError, and ConflictError when the state does
 * not allow it.
 */
export interface RunnerActions {
  list(): Promise<RunnerView[]>
  get(id: number): Promise<RunnerView>
  /**
   * @param compared the fingerprint that a person compared with the host; left out: nobody did
   * @throws ConflictError also when the runner has another fingerprint by now
   */
  approve(id: number, by: string, compared?: string): Promise<DefaultChange>
  reject(id: number, by: string): Promise<DefaultChange>
  revoke(id: number, by: string): Promise<DefaultChange>
  /**
   * Undoes a revoke. The runner is accepted again with the key that it has, and what it still knows of its jobs counts.
   */
  reinstate(id: number, by: string): Promise<DefaultChange>
  /**
   * Accepts the process that was refused as a clone: its state folder was restored from an older copy. What it reports
   * is compared with what is stored, once it is back.
   * @throws ConflictError also while the runner is connected, or when nobody was refused
   */
  acceptCopy(id: number, by: string): Promise<DefaultChange>
  /** @throws ConflictError also when another runner has the new name */
  update(id: number, changes: RunnerChanges, by: string): Promise<DefaultChange>
  /**
   * Removes the runner. Its name is free at once: a host that asked for it under another key waits for approval then.
   * @throws ConflictError also while jobs of the runner have not ended
   */
  remove(id: number, by: string): Promise<DefaultChange>
}

/** What the actions on runners need of other parts. */
export interface RunnerActionDependencies extends Pick<HubOptions, 'store' | 'clock' | 'live' | 'log' | 'onRevoked'> {
  readonly registry: Registry
  readonly queue: KeyedQueue
  readonly nodes: Nodes
}

/** Makes the {@link RunnerActions} of this control plane. */
export function createRunnerActions(deps: RunnerActionDependencies): RunnerActions {
  const { store, registry, live, log } = deps

  /** Runs an action in the queue of the key: first the write, then the message to the connection. */
  async function act(
    id: number,
    what: { readonly write: string; readonly done: string; readonly by: string },
    write: (queries: Queries, runner: Runner) => Promise<Runner | null>,
    send: (connection: AgentConnection, runner: Runner | null) => void,
  ): Promise<DefaultChange> {
    const { fingerprint, name, ip } = await known(store.read, id)
    return deps.queue.run(fingerprint, async () => {
      const { after, defaultChange } = await store.write(what.write, async (queries) => {
        const before = await known(queries, id)
        const written = await write(queries, before)
        return { after: written, defaultChange: await defaultChangeOf(queries, before, written) }
      })
      const connection = registry.find({ id, fingerprint })
      if (connection) send(connection, after)
      deps.nodes.bus.publish({ topic: 'runner', runner: id })
      log.info({ runner: name, fingerprint, ip, by: what.by }, `runner ${what.done}`)
      if (defaultChange === 'made') log.info({ runner: name }, 'this runner is the default one now')
      else if (defaultChange !== null) log.warn({ runner: name }, 'there is no default runner now')
      live.changed('runners')
      return defaultChange
    })
  }

  return {
    async list() {
      return (await listRunners(store.read)).map(viewOf)
    },
    async get(id) {
      return viewOf(await known(store.read, id))
    },
    approve: (id, by, compared) =>
      act(
        id,
        { write: 'runners.approve', done: 'approved', by },
        async (queries, runner) => {
          requireSameKey(runner, compared)
          return move(queries, runner, 'approve', await approvedNow(queries, by, deps.clock.now()))
        },
        (connection, after) => connection.apply(after),
      ),
    reject: (id, by) =>
      act(
        id,
        { write: 'runners.reject', done: 'rejected', by },
        (queries, runner) => move(queries, runner, 'reject', {}),
        (connection) => connection.close('rejected', 'an admin rejected the request; it may be made again'),
      ),
    async revoke(id, by) {
      // Nothing is ended because of this. The runner is shut out. It keeps its playbooks and its spool until it is
      // accepted again.
      const defaultChange = await act(
        id,
        { write: 'runners.revoke', done: 'revoked', by },
        (queries, runner) => move(queries, runner, 'revoke', { enabled: 0, is_default: 0 }),
        (connection) => connection.close('revoked', 'an admin revoked this runner'),
      )
      try {
        await deps.onRevoked?.(id)
      } catch (error) {
        log.error({ runner_id: id, err: error }, 'the jobs of a revoked runner could not be given up')
      }
      return defaultChange
    },
    reinstate: (id, by) =>
      act(
        id,
        { write: 'runners.reinstate', done: 'reinstated', by },
        async (queries, runner) => move(queries, runner, 'reinstate', await approvedNow(queries, by, deps.clock.now())),
        (connection, after) => connection.apply(after),
      ),
    acceptCopy: (id, by) =>
      act(
        id,
        { write: 'runners.accept', done: 'accepted with an older copy of its state folder', by },
        (queries, runner) => {
          // While the accepted process is connected, its jobs would be taken for lost, and its playbooks still run.
          if (viewOf(runner).online) {
            throw new ConflictError(
              'runner_online',
              'The runner is connected: stop that agent first if the process that was refused is the right one',
            )
          }
          return acceptCopy(queries, runner, by)
        },
        (connection, after) => connection.apply(after),
      ),
    update: (id, changes, by) =>
      act(
        id,
        { write: 'runners.update', done: 'changed', by },
        (queries, runner) => change(queries, runner, changes, by),
        (connection, after) => connection.apply(after),
      ),
    remove: (id, by) =>
      act(
        id,
        { write: 'runners.remove', done: 'removed', by },
        async (queries, runner) => {
          const unfinished = await countUnfinishedJobs(queries, id)
          if (unfinished > 0) {
            throw new ConflictError('runner_busy', `${unfinished} of its jobs are not finished; abort them or wait`)
          }
          return move(queries, runner, 'remove', {})
        },
        (connection) => connection.apply(null),
      ),
  }

  function viewOf(runner: Runner): RunnerView {
    return { runner, online: registry.find(runner) !== null || isElsewhere(deps.nodes, runner) }
  }
}

async function known(queries: Queries, id: number): Promise<Runner> {
  const runner = await findRunner(queries, id)
  if (!runner) throw new NotFoundError('no_such_runner', `There is no runner ${id}`)
  return runner
}

/** What was compared is what is let in: a request with another key may have taken its place meanwhile. */
function requireSameKey({ name, fingerprint }: Runner, compared: string | undefined): void {
  if (compared === undefined || compared === fingerprint) return
  throw new ConflictError(
    'other_fingerprint',
    `Runner ${name} has the fingerprint ${fingerprint}, not ${compared}: it is another host or has a new key`,
  )
}

/** Makes a legal move, with other changes; null when the row has gone. @throws ConflictError */
async function move(queries: Queries, runner: Runner, by: RunnerMove, changes: RunnerUpdate): Promise<Runner | null> {
  const state = stateAfter(runner.state, by)
  if (state !== 'gone') return updateRunner(queries, runner.id, runner.state, { ...changes, state })
  await deleteRunner(queries, runner.id)
  if (runner.state !== 'denied') await freeName(queries, runner.name)
  return null
}

/** A name belongs to nobody any more: who was refused because of it, last, waits for approval now. */
async function freeName(queries: Queries, name: string): Promise<void> {
  const denied = await findDeniedRequest(queries, name)
  if (denied) await move(queries, denied, 'free', {})
}

async function defaultChangeOf(queries: Queries, before: Runner, after: Runner | null): Promise<DefaultChange> {
  const isDefault = after?.isDefault ?? false
  if (isDefault !== before.isDefault) return isDefault ? 'made' : 'lost'
  const wasLetIn = after?.state === 'approved' && before.state !== 'approved'
  return wasLetIn && (await findDefaultRunner(queries)) === null ? 'missing' : null
}

/** @throws ConflictError when there is nothing to accept */
function acceptCopy(queries: Queries, runner: Runner, by: string): Promise<Runner | null> {
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

async function change(queries: Queries, runner: Runner, changes: RunnerChanges, by: string): Promise<Runner | null> {
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
    // A column that keeps its value: without any change the SQL statement would not be complete.
    state: runner.state,
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
    ...(isDefault === undefined ? {} : { is_default: isDefault ? 1 : 0 }),
    ...(description === undefined ? {} : { description }),
    ...(maxJobs === undefined ? {} : { max_jobs: maxJobs }),
    ...(keep === undefined ? {} : { kept_by: keep ? by : null }),
    ...(name === undefined ? {} : { name }),
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
