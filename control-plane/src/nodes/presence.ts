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

/** How often a node says that it is there, and looks at the others, in milliseconds. */
const LOOK_MS = 2000

/** Looks in a row in which a node did not move after which it counts as dead: it is then silent for about 8 s. */
export const MAX_STILL_LOOKS = 4

/** Looks after which a dead node is forgotten: an hour, in which somebody can see that it is missing. */
const MAX_DEAD_LOOKS = 1800

/** Which nodes are there. */
export interface Presence {
  /** Until this node has looked for the first time, everybody is believed to be there. */
  isAlive(nodeId: string): boolean
  counts(): { readonly alive: number; readonly dead: number }
  /** Called when a node is found dead, gone, or alive again: its runners are shown otherwise. */
  onChange(listener: () => void): void
  /** Says that this node is there and looks at the others; runs by itself every two seconds. */
  look(): Promise<void>
  /** @param address host and port, for people; whoever had it before is gone, however it went */
  start(address: string): Promise<void>
  /** Takes this node out: it stops by itself and is not missing. */
  close(): Promise<void>
}

/** A node as it was seen last, and in how many looks since it has not moved. */
interface Seen {
  readonly lastSeen: number
  readonly stillLooks: number
}

/**
 * Each node writes the time into its row now and then; the others only see that it moves. So clocks need not agree, and
 * looks are counted instead of time: while the database is away nobody can look, and nobody is found dead because of that.
 * A node that is seen for the first time is believed when its time is not old, and else from its first move on.
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
  /** What ends the timer; null before the start. */
  let stop: (() => void) | null = null
  let isClosed = false
  let address = ''
  /** A failure is said once until it works again. */
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
      // A process that was stopped for an hour has been forgotten by the others.
      if (!(await beatNode(queries, id, mine.last_seen))) await insertNode(queries, mine)
    })
    // Not in the write: nodes that move at the same time would be in each other's way.
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
      // Without it the others find out by themselves; a database that is away must not hold up the end.
      if (!isReported) await store.write('nodes.stop', (queries) => deleteNode(queries, id)).catch(() => undefined)
    },
  }
}
