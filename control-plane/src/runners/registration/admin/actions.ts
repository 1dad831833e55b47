import { ConflictError, NotFoundError } from '../../../errors.js'
import { type Nodes, isElsewhere } from '../../../nodes/nodes.js'
import { type Runner, findDefaultRunner, findRunner, listRunners } from '../../../store/runners/runners.js'
import type { Queries } from '../../../store/store.js'
import type { AgentConnection } from '../../socket/agent-connection.js'
import type { HubDependencies } from '../hub-options.js'
import { approvedNow } from '../join/decision.js'
import type { KeyedQueue } from '@holdfast/host/queues'
import type { Registry } from '../registry.js'
import { type RunnerChanges, acceptCopy, change, moveRunner, removeRunner, requireSameKey } from './writes.js'

/** A runner as an admin sees it: its row, and whether it is connected to a living node. */
export interface RunnerView {
  readonly runner: Runner
  readonly online: boolean
}

/**
 * What an action changed about the default runner. `made`: this runner is the default runner now. `lost`: this runner
 * was the default, and now there is none. `missing`: this runner was approved, and there is no default. Null: nothing
 * changed.
 */
export type DefaultChange = 'made' | 'lost' | 'missing' | null

/**
 * What people do with runners. Every action is one conditional write. After it, the connection is brought in line with
 * the stored row, and the change is announced. Each action throws NotFoundError, and ConflictError when the state does
 * not allow it.
 */
export interface RunnerActions {
  list(): Promise<RunnerView[]>
  get(id: number): Promise<RunnerView>
  /**
   * @param compared the fingerprint that a person compared with the one on the host; left out: nobody compared it
   * @throws ConflictError also when the runner has another fingerprint by now
   */
  approve(id: number, by: string, compared?: string): Promise<DefaultChange>
  reject(id: number, by: string): Promise<DefaultChange>
  revoke(id: number, by: string): Promise<DefaultChange>
  /** Undoes a revoke. The runner is accepted again with the key that it has, and its reports about its jobs count. */
  reinstate(id: number, by: string): Promise<DefaultChange>
  /**
   * Accepts the process that was refused as a clone: its state folder was restored from an older copy. When it is back,
   * its reports are compared with what is stored.
   * @throws ConflictError also while the runner is connected, or when nobody was refused
   */
  acceptCopy(id: number, by: string): Promise<DefaultChange>
  /** @throws ConflictError also when another runner has the new name */
  update(id: number, changes: RunnerChanges, by: string): Promise<DefaultChange>
  /**
   * Removes the runner. Its name is free at once. Then a host with another key that asked for this name waits for
   * approval.
   * @throws ConflictError also while jobs of the runner have not ended
   */
  remove(id: number, by: string): Promise<DefaultChange>
}

/** What the actions on runners need of other parts. */
export interface RunnerActionDependencies extends Pick<
  HubDependencies,
  'store' | 'clock' | 'live' | 'log' | 'onRevoked'
> {
  readonly registry: Registry
  readonly queue: KeyedQueue
  readonly nodes: Nodes
}

/** Makes the {@link RunnerActions} of this control plane. */
export function createRunnerActions(deps: RunnerActionDependencies): RunnerActions {
  const { store, registry, log } = deps

  const act = createAct(deps)

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
          return moveRunner(queries, runner, 'approve', await approvedNow(queries, by, deps.clock.now()))
        },
        (connection, after) => connection.apply(after),
      ),
    reject: (id, by) =>
      act(
        id,
        { write: 'runners.reject', done: 'rejected', by },
        (queries, runner) => moveRunner(queries, runner, 'reject', {}),
        (connection) => connection.close('rejected', 'an admin rejected the request; it may be made again'),
      ),
    async revoke(id, by) {
      // No playbook ends because of this. The runner cannot connect, but it keeps its playbooks and its spool until it
      // is accepted again.
      const defaultChange = await act(
        id,
        { write: 'runners.revoke', done: 'revoked', by },
        (queries, runner) => moveRunner(queries, runner, 'revoke', { enabled: 0, is_default: 0 }),
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
        async (queries, runner) =>
          moveRunner(queries, runner, 'reinstate', await approvedNow(queries, by, deps.clock.now())),
        (connection, after) => connection.apply(after),
      ),
    acceptCopy: (id, by) =>
      act(
        id,
        { write: 'runners.accept', done: 'accepted with an older copy of its state folder', by },
        (queries, runner) => {
          requireOffline(viewOf(runner))
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
      act(id, { write: 'runners.remove', done: 'removed', by }, removeRunner, (connection) => connection.apply(null)),
  }

  function viewOf(runner: Runner): RunnerView {
    return { runner, online: registry.find(runner) !== null || isElsewhere(deps.nodes, runner) }
  }
}

/** Makes the function that runs an action in the queue of the key: first the write, then the message to the connection. */
function createAct({ store, registry, queue, nodes, live, log }: RunnerActionDependencies) {
  return async (
    id: number,
    what: { readonly write: string; readonly done: string; readonly by: string },
    write: (queries: Queries, runner: Runner) => Promise<Runner | null>,
    send: (connection: AgentConnection, runner: Runner | null) => void,
  ): Promise<DefaultChange> => {
    const { fingerprint, name, ip } = await known(store.read, id)
    return queue.run(fingerprint, async () => {
      const { after, defaultChange } = await store.write(what.write, async (queries) => {
        const before = await known(queries, id)
        const written = await write(queries, before)
        return { after: written, defaultChange: await defaultChangeOf(queries, before, written) }
      })
      const connection = registry.find({ id, fingerprint })
      if (connection) send(connection, after)
      nodes.bus.publish({ topic: 'runner', runner: id })
      log.info({ runner: name, fingerprint, ip, by: what.by }, `runner ${what.done}`)
      if (defaultChange === 'made') log.info({ runner: name }, 'this runner is the default one now')
      else if (defaultChange !== null) log.warn({ runner: name }, 'there is no default runner now')
      live.changed('runners')
      return defaultChange
    })
  }
}

async function known(queries: Queries, id: number): Promise<Runner> {
  const runner = await findRunner(queries, id)
  if (!runner) throw new NotFoundError('no_such_runner', `There is no runner ${id}`)
  return runner
}

async function defaultChangeOf(queries: Queries, before: Runner, after: Runner | null): Promise<DefaultChange> {
  const isDefault = after?.isDefault ?? false
  if (isDefault !== before.isDefault) return isDefault ? 'made' : 'lost'
  const wasLetIn = after?.state === 'approved' && before.state !== 'approved'
  return wasLetIn && (await findDefaultRunner(queries)) === null ? 'missing' : null
}

/** While the other process is connected, its jobs would count as lost, although its playbooks still run. */
function requireOffline({ online }: RunnerView): void {
  if (!online) return
  throw new ConflictError(
    'runner_online',
    'The runner is connected: stop that agent first if the process that was refused is the right one',
  )
}
