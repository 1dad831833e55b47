import { ProtocolError } from '@holdfast/protocol'
import { type Fenced, findFence } from '../../store/runners/fencing.js'
import type { Queries, Store } from '../../store/store.js'
import { TAKEN_OVER_TEXT } from './agent-connection.js'
import type { RunnerConnection } from './connection.js'

const TEXTS: Record<Fenced, string> = {
  taken_over: TAKEN_OVER_TEXT,
  revoked: 'the runner is revoked',
  removed: 'the runner was removed; it may ask again',
}

/**
 * The store as one connection of a runner may use it, where several nodes share the work. Each write checks in its own
 * transaction that this is still the newest connection of the runner, and that the runner is approved. If not, nothing
 * is written, the connection is closed with that reason, and the write rejects. The writes of all nodes have the same
 * result as if they had run one after the other. So what an older connection had begun at another node is either done
 * before the newer one gets its welcome, or never done.
 */
export function fencedStore(store: Store, connection: RunnerConnection): Store {
  return {
    ...store,
    async write<T>(name: string, operation: (queries: Queries) => Promise<T>): Promise<T> {
      const outcome = await store.write(name, async (queries) => {
        const fence = await findFence(queries, connection.runnerId, connection.epoch)
        return fence === null ? { fence, value: await operation(queries) } : { fence }
      })
      if (outcome.fence === null) return outcome.value
      connection.close(outcome.fence, TEXTS[outcome.fence])
      throw new ProtocolError(outcome.fence, TEXTS[outcome.fence])
    },
  }
}
