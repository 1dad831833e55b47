import type { Clock } from '../../clock.js'

/** The most that counts between two looks, in milliseconds. */
const MAX_COUNTED_MS = 2000

/** A pause between two looks after which this control plane was blind: suspended, or without its database. */
const BLIND_MS = 10_000

/** How long a runner may need to come back to a control plane that was blind: its agent dials again within 30 s. */
const RETURN_MS = 35_000

/**
 * How long runners are away, as this control plane has seen it. Only time counts in which it could see and store: its own
 * blindness is no silence of a runner. After such a time every runner gets the whole time anew, as after a start.
 */
export interface LastSeen {
  /** It is connected now, or was until now. */
  note(runnerId: number): void
  /** Everything could be seen and stored just now: the time since the last such look counts. */
  looked(): void
  /**
   * How long a runner has been silent, in milliseconds. One of which nothing is known is silent from now on: a restart of
   * this process gives every runner the whole time to come back.
   */
  silentFor(runnerId: number): number
  /** Forgets all but these: the silence of others matters to nobody. */
  keepOnly(runnerIds: readonly number[]): void
}

/**
 * @param steady time that does not jump: nobody is silent because a clock was set
 * @param lostMs silence after which a runner is given up, in milliseconds
 */
export function createLastSeen(steady: Clock, lostMs: number): LastSeen {
  const seenAt = new Map<number, number>()
  /** The time in which this control plane could see and store, in milliseconds. */
  let sighted = 0
  let lookedAt: number | null = null
  return {
    note: (runnerId) => void seenAt.set(runnerId, sighted),
    looked() {
      const now = steady.now()
      const passed = lookedAt === null ? 0 : now - lookedAt
      lookedAt = now
      if (passed <= BLIND_MS) sighted += Math.min(passed, MAX_COUNTED_MS)
      else for (const runnerId of seenAt.keys()) seenAt.set(runnerId, sighted + Math.max(0, RETURN_MS - lostMs))
    },
    silentFor(runnerId) {
      const since = seenAt.get(runnerId) ?? sighted
      seenAt.set(runnerId, since)
      return Math.max(0, sighted - since)
    },
    keepOnly(runnerIds) {
      const kept = new Set(runnerIds)
      for (const runnerId of [...seenAt.keys()]) if (!kept.has(runnerId)) seenAt.delete(runnerId)
    },
  }
}
