/** How large a pool may grow. */
export interface PoolLimits {
  /** Most members. */
  readonly most: number
  /** Most members of one group. */
  readonly mostOfGroup: number
  /**
   * How many members a group may have before it counts as large. A higher number for known groups keeps places for
   * them.
   */
  readonly reserveOf: (group: string) => number
}

/**
 * A bounded number of members, shared fairly between groups. A new member always gets in. If there is no room, the
 * oldest member of the largest group is removed. So a group that fills the pool removes its own members. A member that
 * is alone in its group stays while another group has more than one. If all are alone, the oldest is removed.
 */
export class FairPool<Member> {
  /** Groups and their members, each in the order in which they came. */
  readonly #groups = new Map<string, Set<Member>>()
  readonly #groupOf = new Map<Member, string>()

  constructor(private readonly limits: PoolLimits) {}

  get size(): number {
    return this.#groupOf.size
  }

  /** Adds a member. @returns the member that had to go for it, or null */
  add(member: Member, group: string): Member | null {
    this.delete(member)
    const mates = this.#groups.get(group)
    const crowded =
      mates && mates.size >= this.limits.mostOfGroup ? mates : this.size >= this.limits.most && this.#largest()
    const [oldest] = crowded || []
    if (oldest !== undefined) this.delete(oldest)
    // The group may have lost its last member just now.
    const members = this.#groups.get(group) ?? new Set<Member>()
    this.#groups.set(group, members.add(member))
    this.#groupOf.set(member, group)
    return oldest ?? null
  }

  delete(member: Member): void {
    const group = this.#groupOf.get(member)
    if (group === undefined) return
    this.#groupOf.delete(member)
    const members = this.#groups.get(group)
    members?.delete(member)
    if (members?.size === 0) this.#groups.delete(group)
  }

  #largest(): ReadonlySet<Member> | undefined {
    let largest: ReadonlySet<Member> | undefined
    let most = -Infinity
    for (const [group, members] of this.#groups) {
      const size = members.size - this.limits.reserveOf(group)
      if (size <= most) continue
      most = size
      largest = members
    }
    return largest
  }
}
