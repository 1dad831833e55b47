import type { Clock } from '../clock.js'

/** Since when the runners that have running jobs are not connected, here or at another node. */
export interface LastSeen {
  /** It is connected now, or was until now. */
  note(runnerId: number): void
  /**
   * How long a runner has been silent, in milliseconds. One of which nothing is known is silent from now on: a restart of
   * this process gives every runner the whole time to come back.
   */
  silentFor(runnerId: number): number
  /** Forgets all but these: whoever has no running job may be away as long as it likes. */
  keepOnly(runnerIds: readonly number[]): void
}

/** @param steady time that does not jump: nobody is silent because a clock was set */
export function createLastSeen(steady: Clock): LastSeen {
  const seenAt = new Map<number, number>()
  return {
    note: (runnerId) => void seenAt.set(runnerId, steady.now()),
    silentFor(runnerId) {
      const now = steady.now()
      const since = seenAt.get(runnerId) ?? now
      seenAt.set(runnerId, since)
      return now - since
    },
    keepOnly(runnerIds) {
      const kept = new Set(runnerIds)
      for (const runnerId of [...seenAt.keys()]) if (!kept.has(runnerId)) seenAt.delete(runnerId)
    },
  }
}
