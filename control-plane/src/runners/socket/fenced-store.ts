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
 * The store as one connection of a runner may use it where other nodes share the work: each write looks, in its own
 * transaction, whether this still is the runner's newest connection and the runner approved. If not, nothing is written,
 * the connection is closed with that reason and the write rejects. Writes of all nodes come out as if they had been done
 * one after the other, so what an older connection still had under way at another node is either done before the newer
 * one is welcome, or not at all.
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
