import type { Clock } from '../clock.js'
import { messageOf } from '../errors.js'
import {
  type ServiceNodeRow,
  beatNode,
  deleteNode,
  deleteNodesAt,
  insertNode,
  listNodes,
} from '../store/service/nodes.js'
import type { Store } from '../store/store.js'
import type { Timers } from '../timers.js'

/** How often a node announces itself and looks at the others, in milliseconds. */
const LOOK_MS = 2000

/** After so many looks in a row without a move, a node counts as dead: after about 8 s of silence. */
export const MAX_STILL_LOOKS = 4

/** After so many looks a dead node is forgotten: after an hour, in which people can see that it is missing. */
const MAX_DEAD_LOOKS = 1800

/** Knows which nodes are alive. */
export interface Presence {
  /** Before this node has looked for the first time, all nodes count as alive. */
  isAlive(nodeId: string): boolean
  counts(): { readonly alive: number; readonly dead: number }
  /** Called when a node is found dead, gone, or alive again, because its runners are shown in another way then. */
  onChange(listener: () => void): void
  /** Announces this node and looks at the others. It runs automatically every two seconds. */
  look(): Promise<void>
  /** @param address host and port, for people; the node that had the address before is removed */
  start(address: string): Promise<void>
  /** Removes this node from the list: it stops by intention, and is not missing. */
  close(): Promise<void>
}

/** A node as it was seen last, and the number of looks since it moved. */
interface Seen {
  readonly lastSeen: number
  readonly stillLooks: number
}

/**
 * Each node writes the time into its row now and then. The others only see that the row changes. So clocks may differ.
 * Looks are counted and not time: without the database nobody can look, and so nobody is found dead. A node that is
 * seen for the first time counts as alive if its time is not old. Otherwise it does from its first change on.
 */
export function createPresence(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
  readonly id: string
  readonly version: string
}): Presence {
  const { store, clock, log, id } = deps
  const others = new Map<string, Seen>()
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

  const isDead = (seen: Seen) => seen.stillLooks >= MAX_STILL_LOOKS

  function notify(): void {
    for (const listener of listeners) listener()
  }

  function note(found: ServiceNodeRow): void {
    const before = others.get(found.id)
    let stillLooks = before && before.lastSeen === found.last_seen ? before.stillLooks + 1 : 0
    if (!before && Math.abs(clock.now() - found.last_seen) > LOOK_MS * MAX_STILL_LOOKS) stillLooks = MAX_STILL_LOOKS
    const after = { lastSeen: found.last_seen, stillLooks }
    others.set(found.id, after)
    const wasDead = before !== undefined && isDead(before)
    const who = { node: found.id, address: found.address }
    if (!before) log.info(who, isDead(after) ? 'there is a node that does not move' : 'there is another node')
    else if (isDead(after) && !wasDead) log.warn(who, 'a node is silent')
    else if (!isDead(after) && wasDead) log.info(who, 'a node is back')
    if (before && isDead(after) !== wasDead) notify()
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
    const known = new Set(found.map((node) => node.id))
    for (const [other, seen] of [...others]) {
      if (known.has(other)) continue
      others.delete(other)
      if (!isDead(seen)) notify()
    }
    for (const node of found) if (node.id !== id) note(node)
    const forgotten = found.filter((node) => (others.get(node.id)?.stillLooks ?? 0) >= MAX_DEAD_LOOKS)
    for (const { id: dead, last_seen } of forgotten) {
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
    isAlive(nodeId) {
      if (nodeId === id || stop === null) return true
      const seen = others.get(nodeId)
      return seen !== undefined && !isDead(seen)
    },
    counts() {
      const dead = [...others.values()].filter(isDead).length
      return { alive: 1 + others.size - dead, dead }
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
