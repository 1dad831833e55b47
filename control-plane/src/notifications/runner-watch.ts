import type { Clock } from '../time/clock.js'
import type { Nodes } from '../nodes/nodes.js'
import { listWatchedConnections, markLost, noteRunnerEvent } from '../store/service/notification-events.js'
import type { Store } from '../store/store.js'

/** Notices runners that are lost, and lost runners that are back. */
export type RunnerWatch = ReturnType<typeof createRunnerWatch>

/**
 * Makes the {@link RunnerWatch} of this node. A runner counts as lost when this node has seen it away without a break for
 * `lostMs`. So a restart of the runner or of the service is no loss. The database stores with the runner that it is lost. So
 * only one of several nodes tells it, and a restart does not tell it again.
 */
export function createRunnerWatch(deps: {
  readonly store: Store
  readonly clock: Clock
  /** A clock that does not jump. */
  readonly steady: Clock
  readonly nodes: Pick<Nodes, 'isAlive'>
  /** How long a runner may be away before it counts as lost, in milliseconds. */
  readonly lostMs: number
}) {
  const { store, clock, steady, nodes, lostMs } = deps
  const awaySince = new Map<number, number>()

  return {
    async look(): Promise<void> {
      const runners = await listWatchedConnections(store.read)
      const ids = new Set(runners.map(({ id }) => id))
      for (const id of awaySince.keys()) if (!ids.has(id)) awaySince.delete(id)
      for (const { connectedNode, lostAt, ...runner } of runners) {
        const isThere = connectedNode !== null && nodes.isAlive(connectedNode)
        if (isThere) awaySince.delete(runner.id)
        else awaySince.set(runner.id, awaySince.get(runner.id) ?? steady.now())
        const since = awaySince.get(runner.id)
        const isLost = since !== undefined && steady.now() - since >= lostMs
        const what = isThere && lostAt !== null ? 'back' : isLost && lostAt === null ? 'lost' : null
        if (what === null) continue
        const now = clock.now()
        await store.write(`notifications.${what}`, async (queries) => {
          const isOurs = await markLost(queries, runner.id, what === 'lost' ? now : null)
          if (isOurs) await noteRunnerEvent(queries, what, runner, now)
        })
      }
    },
  }
}
