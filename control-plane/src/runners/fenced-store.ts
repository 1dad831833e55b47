import { ProtocolError } from '@holdfast/protocol'
import { type Fenced, findFence, holdFence } from '../store/fencing.js'
import type { Queries, Store } from '../store/store.js'
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
 * the connection is closed with that reason and the write rejects. So what an older connection still had under way at
 * another node never mixes with what the newer one was told.
 *   - `hold`: whoever takes over waits for the write. For what decides who has a job.
 *   - `look`: for what is guarded by itself, such as pieces of streams by their offset; cheaper.
 */
export function fencedStore(store: Store, connection: RunnerConnection, how: 'hold' | 'look'): Store {
  const fenceOf = how === 'hold' ? holdFence : findFence
  return {
    ...store,
    async write<T>(name: string, operation: (queries: Queries) => Promise<T>): Promise<T> {
      const outcome = await store.write(name, async (queries) => {
        const fence = await fenceOf(queries, connection.runnerId, connection.epoch)
        return fence === null ? { fence, value: await operation(queries) } : { fence }
      })
      if (outcome.fence === null) return outcome.value
      connection.close(outcome.fence, TEXTS[outcome.fence])
      throw new ProtocolError(outcome.fence, TEXTS[outcome.fence])
    },
  }
}
