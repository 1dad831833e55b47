import type { Clock } from '../time/clock.js'
import type { ServiceNodeRow } from '../store/service/nodes.js'

/** How often a node announces itself and looks at the others, in milliseconds. */
export const LOOK_MS = 2000

/** After so many looks in a row without a move, a node counts as dead: after about 8 s of silence. */
export const MAX_STILL_LOOKS = 4

/** After so many looks, about an hour, a dead node is forgotten. During this time people can see that it is missing. */
const MAX_DEAD_LOOKS = 1800

/** A node as it was seen last, and the number of looks since it moved. */
interface Seen {
  readonly lastSeen: number
  readonly stillLooks: number
}

/** The other nodes, as the looks of this node have seen them. */
export class OtherNodes {
  private readonly seen = new Map<string, Seen>()

  /** @param notify called when a node is found dead, gone, or alive again */
  constructor(
    private readonly clock: Clock,
    private readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void },
    private readonly notify: () => void,
  ) {}

  isAlive(nodeId: string): boolean {
    const seen = this.seen.get(nodeId)
    return seen !== undefined && !isDead(seen)
  }

  counts(): { readonly alive: number; readonly dead: number } {
    const dead = [...this.seen.values()].filter(isDead).length
    return { alive: this.seen.size - dead, dead }
  }

  /** Takes the rows of one look. Returns those that are dead for so long that they are to be forgotten. */
  noteAll(found: readonly ServiceNodeRow[]): ServiceNodeRow[] {
    const known = new Set(found.map((node) => node.id))
    for (const [other, seen] of [...this.seen]) {
      if (known.has(other)) continue
      this.seen.delete(other)
      if (!isDead(seen)) this.notify()
    }
    for (const node of found) this.note(node)
    return found.filter((node) => (this.seen.get(node.id)?.stillLooks ?? 0) >= MAX_DEAD_LOOKS)
  }

  private note(found: ServiceNodeRow): void {
    const before = this.seen.get(found.id)
    let stillLooks = before && before.lastSeen === found.last_seen ? before.stillLooks + 1 : 0
    if (!before && Math.abs(this.clock.now() - found.last_seen) > LOOK_MS * MAX_STILL_LOOKS)
      stillLooks = MAX_STILL_LOOKS
    const after = { lastSeen: found.last_seen, stillLooks }
    this.seen.set(found.id, after)
    const wasDead = before !== undefined && isDead(before)
    const who = { node: found.id, address: found.address }
    if (!before) this.log.info(who, isDead(after) ? 'there is a node that does not move' : 'there is another node')
    else if (isDead(after) && !wasDead) this.log.warn(who, 'a node is silent')
    else if (!isDead(after) && wasDead) this.log.info(who, 'a node is back')
    if (before && isDead(after) !== wasDead) this.notify()
  }
}

function isDead(seen: Seen): boolean {
  return seen.stillLooks >= MAX_STILL_LOOKS
}
