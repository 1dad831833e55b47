/** How large a pool may grow. */
export interface PoolLimits {
  /** Members in all. */
  readonly most: number
  /** Members of one group. */
  readonly mostOfGroup: number
  /** Members that a group may have before it counts as large: what is kept free for those who are known. */
  readonly reserveOf: (group: string) => number
}

/**
 * A bounded crowd, shared fairly between groups. A newcomer always gets in. When there is no room, the oldest member of
 * the largest group has to go: a group that fills the pool pushes out its own members, and who is alone in its group
 * stays as long as any other group has more than one. Where all are alone, the oldest goes.
 */
export class FairPool<Member> {
  /** Groups and their members, each in the order in which they came. */
  readonly #groups = new Map<string, Set<Member>>()
  readonly #groupOf = new Map<Member, string>()

  constructor(private readonly limits: PoolLimits) {}

  get size(): number {
    return this.#groupOf.size
  }

  /** Takes a member in. @returns who had to go for it, or null */
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
