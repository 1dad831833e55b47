import type { Clock } from '../time/clock.js'
import { messageOf } from '../errors.js'
import {
  type ServiceNodeRow,
  beatNode,
  deleteNode,
  deleteNodesAt,
  insertNode,
  listNodes,
} from '../store/service/nodes.js'
import type { RawStore } from '../store/store.js'
import type { Timers } from '../time/timers.js'
import { LOOK_MS, OtherNodes } from './other-nodes.js'

/** Knows which nodes are alive. */
export interface Presence {
  /** Before this node has looked for the first time, all nodes count as alive. */
  isAlive(nodeId: string): boolean
  counts(): { readonly alive: number; readonly dead: number }
  /** Called when a node is found dead, gone, or alive again, because then its runners are shown with another state. */
  onChange(listener: () => void): void
  /** Announces this node and looks at the others. It runs automatically every two seconds. */
  look(): Promise<void>
  /** @param address host and port, for people; the node that had the address before is removed */
  start(address: string): Promise<void>
  /** Removes this node from the list, because it stops by intention and does not fail. */
  close(): Promise<void>
}

/**
 * Each node regularly writes the time into its row. The others only see that the row changes. So clocks may differ.
 * They count looks and not time. Without the database no node can look, so no node counts as dead. A node that is seen
 * for the first time counts as alive if its time is not old. Otherwise it counts as alive from its first change on.
 */
export function createPresence(deps: {
  readonly store: RawStore
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
  readonly id: string
  readonly version: string
}): Presence {
  const { store, clock, log, id } = deps
  const others = new OtherNodes(clock, log, () => listeners.forEach((listener) => listener()))
  const listeners: (() => void)[] = []
  const startedAt = clock.now()
  let looking: Promise<void> | null = null
  /** Ends the timer; null before the start. */
  let stop: (() => void) | null = null
  let isClosed = false
  let address = ''
  /** A failure is logged once, until it works again. */
  let isReported = false

  function row(): ServiceNodeRow {
    return { id, version: deps.version, address, started_at: startedAt, last_seen: clock.now() }
  }

  async function lookOnce(): Promise<void> {
    const mine = row()
    await store.write('nodes.beat', async (queries) => {
      // The other nodes have forgotten a process that was stopped for an hour.
      if (!(await beatNode(queries, id, mine.last_seen))) await insertNode(queries, mine)
    })
    // Not inside the write, because nodes that write at the same time would disturb each other.
    const found = await listNodes(store.read)
    isReported = false
    for (const { id: dead, last_seen } of others.noteAll(found.filter((node) => node.id !== id))) {
      await store.write('nodes.forget', (queries) => deleteNode(queries, dead, last_seen))
    }
  }

  function look(): Promise<void> {
    looking ??= lookOnce().finally(() => {
      looking = null
    })
    return looking
  }

  return {
    isAlive: (nodeId) => nodeId === id || stop === null || others.isAlive(nodeId),
    counts() {
      const { alive, dead } = others.counts()
      return { alive: 1 + alive, dead }
    },
    onChange: (listener) => void listeners.push(listener),
    look,
    async start(given) {
      address = given
      await store.write('nodes.start', async (queries) => {
        await deleteNodesAt(queries, address)
        await insertNode(queries, row())
      })
      await look()
      stop = deps.timers.every(LOOK_MS, () => {
        look().catch((error: unknown) => {
          if (!isReported)
            log.warn({ reason: messageOf(error) }, 'this node could not look after the others; it tries again')
          isReported = true
        })
      })
    },
    async close() {
      if (isClosed || stop === null) return
      isClosed = true
      stop()
      await looking?.catch(() => undefined)
      // If the row stays, the others notice by themselves. A database that does not answer must not delay the end.
      if (!isReported) await store.write('nodes.stop', (queries) => deleteNode(queries, id)).catch(() => undefined)
    },
  }
}
