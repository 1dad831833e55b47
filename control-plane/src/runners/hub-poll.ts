import type { Logger } from 'pino'
import { messageOf } from '../errors.js'
import type { Nodes } from '../nodes/nodes.js'
import { type Runner, clearConnectedNode, findRunner, findRunnersOfNode } from '../store/runners.js'
import type { Store } from '../store/store.js'
import type { AgentConnection } from './agent-connection.js'
import type { KeyedQueue } from './keyed-queue.js'
import type { Registry } from './registry.js'

/** How often the rows of connected runners are looked at for what other nodes did to them, in milliseconds. */
const POLL_MS = 2000

/** Keeps the connections of this node in line with what other nodes write. */
export interface HubPoll {
  /** Looks at all of them; runs by itself where there are other nodes. */
  poll(): Promise<void>
  close(): Promise<void>
}

/**
 * Other nodes say at once what they did to a runner; this covers what was not heard. Each connection is dealt with in the
 * queue of its key and by the row as it is then: what was read for all of them together may be old by that time.
 */
export function createHubPoll(deps: {
  readonly store: Store
  readonly nodes: Nodes
  readonly registry: Registry
  readonly queue: KeyedQueue
  readonly log: Logger
  readonly refresh: (runnerId: number) => Promise<void>
}): HubPoll {
  const { store, nodes, registry, queue, log } = deps
  let polling: Promise<void> | null = null

  async function pollOnce(): Promise<void> {
    const connections = new Map(registry.all().map((connection) => [connection.runnerId, connection]))
    const rows = await findRunnersOfNode(store.read, [...connections.keys()], nodes.id)
    const known = new Map(rows.map((row) => [row.id, row]))
    const changed = [...connections].filter(([id, connection]) => isNews(connection, known.get(id)))
    const lost = rows.filter((row) => row.connectedNode === nodes.id && !connections.has(row.id))
    await Promise.all([...changed.map(([id]) => deps.refresh(id)), ...lost.map(disown)])
  }

  /** The row says that this node has the socket, which it has not (any more): its end could not be stored then. */
  function disown({ id, fingerprint }: Runner): Promise<void> {
    return queue.run(fingerprint, async () => {
      if (registry.of(fingerprint)) return
      const now = await findRunner(store.read, id)
      if (now?.connectedNode !== nodes.id) return
      await store.write('runners.disown', (queries) => clearConnectedNode(queries, id, now.epoch))
    })
  }

  function poll(): Promise<void> {
    polling ??= pollOnce().finally(() => {
      polling = null
    })
    return polling
  }

  const pollQuietly = () =>
    void poll().catch((error: unknown) => log.warn({ reason: messageOf(error) }, 'looking after runners failed'))
  const stopListening = nodes.bus.subscribe({
    received(message) {
      if (message.topic !== 'runner') return
      deps.refresh(message.runner).catch(pollQuietly)
    },
    missed: pollQuietly,
  })
  const timer = nodes.isShared ? setInterval(pollQuietly, POLL_MS).unref() : undefined

  return {
    poll,
    async close() {
      clearInterval(timer)
      stopListening()
      await polling?.catch(() => undefined)
    },
  }
}

/** Whether a row differs in what its connection is about. */
function isNews({ runner, phase }: AgentConnection, row: Runner | undefined): boolean {
  if (!row || row.epoch !== runner.epoch || row.enabled !== runner.enabled || row.maxJobs !== runner.maxJobs)
    return true
  return row.state !== (phase === 'waiting' ? 'waiting' : 'approved')
}
