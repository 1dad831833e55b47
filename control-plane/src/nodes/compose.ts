import type { Ground } from '../ground/ground.js'
import { openNotificationsOf } from '../store/open-notifications.js'
import type { StoreSettings } from '../store/compose.js'
import type { RawStore } from '../store/store.js'
import { version } from '../version.js'
import { type Nodes, SOLE_NODE, createSharedNode } from './nodes.js'

/** Builds this node's view of the nodes that share its database. On SQLite it is the only one. */
export async function composeNodes(ground: Ground, { database }: StoreSettings, store: RawStore): Promise<Nodes> {
  const { clock, timers, random, log, onClose } = ground
  const openPost = await openNotificationsOf(database, { timers, log })
  const nodes = openPost ? createSharedNode({ store, clock, timers, log, random, version, openPost }) : SOLE_NODE
  onClose(() => nodes.close())
  return nodes
}
