import type { Clock } from '../time/clock.js'
import type { RawStore } from '../store/store.js'
import type { Timers } from '../time/timers.js'
import { type Bus, type Post, type PostListener, SILENT_BUS, createBus } from './bus.js'
import { createHistoryWatch } from './history-watch.js'
import { createPresence } from './presence.js'
import type { Ground } from '../ground/ground.js'
import { openNotificationsOf } from '../store/open-notifications.js'
import type { StoreSettings } from '../store/open-store.js'
import { version } from '../version.js'

/**
 * This node among those that share the database. Nodes decide from the database, which they ask at every request, and
 * from files of the shared folder. These facts are in the memory of one node only:
 *
 * - Open event streams, how many a session has, and AUTH_RATE_LIMIT: each node counts for itself.
 * - The sockets of runners. The row of a runner names the node that has its socket, and the epoch. Once a newer
 *   connection is accepted, the older one cannot write. Its node closes it within two seconds.
 * - The order of decisions about one key. Between nodes each decision is one write that reads the present row.
 * - What a connection was offered and holds. This is also in the database, or comes with the next inventory.
 * - The silence of runners. It counts from when a node sees that a runner is connected to no node. The first node whose
 *   time is over makes the jobs abandoned.
 * - Passwords of one account are checked one after the other. So each further node may allow one more guess.
 * - Caches, such as prepared statements and hashes of files. No decision depends on their age.
 *
 * Every node does all sweeps. Each of their steps is conditional, so two nodes at once do no harm.
 */
export interface Nodes {
  /** The id of this process. With several nodes, every start has a new one. */
  readonly id: string
  /** False: there is only this process, so no changes of other nodes have to be looked for. */
  readonly isShared: boolean
  readonly bus: Bus
  /** Whether the node with this id works, as far as this node can tell. This node itself always does. */
  isAlive(nodeId: string): boolean
  /**
   * Called when another node is found dead, gone, or alive again, because then its runners are shown with another
   * state.
   */
  onChange(listener: () => void): void
  /** Called when the database went back to an earlier state. What this node knows from before may be wrong. */
  onWentBack(listener: () => void): void
  /** Why this node does not hear from the others, as a sentence for admins; null: it does, as far as is known. */
  trouble(): string | null
  /** For the metrics. */
  counts(): { readonly alive: number; readonly dead: number }
  /** Announces this node to the others. @param address host and port, for people */
  start(address: string): Promise<void>
  /** Announces this node and looks at the others. It runs automatically from the start on. */
  look(): Promise<void>
  close(): Promise<void>
}

/** The only node of its database. */
export const SOLE_NODE: Nodes = {
  id: 'sole',
  isShared: false,
  bus: SILENT_BUS,
  isAlive: (nodeId) => nodeId === 'sole',
  onChange: () => undefined,
  onWentBack: () => undefined,
  trouble: () => null,
  counts: () => ({ alive: 1, dead: 0 }),
  start: () => Promise.resolve(),
  look: () => Promise.resolve(),
  close: () => Promise.resolve(),
}

/** One of several nodes on a database. @param openPost opens the connection that carries messages between them */
export function createSharedNode(deps: {
  readonly store: RawStore
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
  readonly random: (bytes: number) => Buffer
  readonly version: string
  readonly openPost: (listener: PostListener) => Post
}): Nodes {
  const id = deps.random(8).toString('hex')
  const presence = createPresence({ ...deps, id })
  const bus = createBus({ ...deps, nodeId: id, isAlone: () => presence.counts().alive <= 1 })
  const history = createHistoryWatch(deps)
  return {
    id,
    isShared: true,
    bus,
    isAlive: (nodeId) => presence.isAlive(nodeId),
    onChange: (listener) => presence.onChange(listener),
    onWentBack: (listener) => history.onWentBack(listener),
    trouble: () => bus.trouble(),
    counts: () => presence.counts(),
    async start(address) {
      await presence.start(address)
      await history.start()
    },
    look: () => presence.look(),
    async close() {
      await history.close()
      await presence.close()
      await bus.close()
    },
  }
}

/** Whether another living node has the socket of this runner. */
export function isElsewhere(nodes: Nodes, runner: { readonly connectedNode: string | null }): boolean {
  const { connectedNode } = runner
  return connectedNode !== null && connectedNode !== nodes.id && nodes.isAlive(connectedNode)
}

/** Builds this node's view of the nodes that share its database. On SQLite it is the only one. */
export async function composeNodes(ground: Ground, { database }: StoreSettings, store: RawStore): Promise<Nodes> {
  const { clock, timers, random, log, onClose } = ground
  const openPost = await openNotificationsOf(database, { queries: store.read, timers, log })
  const nodes = openPost ? createSharedNode({ store, clock, timers, log, random, version, openPost }) : SOLE_NODE
  onClose(() => nodes.close())
  return nodes
}
