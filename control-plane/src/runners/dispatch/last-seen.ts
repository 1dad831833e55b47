import type { Clock } from '../../time/clock.js'

/** Most milliseconds that count between two looks. */
const MAX_COUNTED_MS = 2000

/**
 * A pause between two looks, in milliseconds, after which this control plane counts as blind: it was suspended, or had
 * no database.
 */
const BLIND_MS = 10_000

/**
 * How long a runner may need to come back to a control plane that was blind, in milliseconds. Its agent dials again
 * within 30 s.
 */
const RETURN_MS = 35_000

/**
 * How long runners have been away, as this control plane has seen it. Only time counts in which it was able to read and
 * store. While it is blind, no runner counts as silent. After such a time every runner gets the full time again, as
 * after a start.
 */
export type LastSeen = ReturnType<typeof createLastSeen>

/**
 * @param steady a clock that does not jump: no runner becomes silent because a clock was set
 * @param lostMs silence after which a runner's jobs are abandoned, in milliseconds
 */
export function createLastSeen(steady: Clock, lostMs: number) {
  const seenAt = new Map<number, number>()
  /** The time in which this control plane was able to read and store, in milliseconds. */
  let sighted = 0
  let lookedAt: number | null = null
  const passedSinceLook = () => (lookedAt === null ? 0 : steady.now() - lookedAt)
  return {
    /** The runner is connected now, or was until now. Its silence begins now, and not at the look before. */
    note: (runnerId: number): void => void seenAt.set(runnerId, sighted + Math.min(passedSinceLook(), MAX_COUNTED_MS)),
    /** This control plane could read and write just now. So the time since the last such look counts. */
    looked(): void {
      const passed = passedSinceLook()
      lookedAt = steady.now()
      if (passed <= BLIND_MS) sighted += Math.min(passed, MAX_COUNTED_MS)
      else for (const runnerId of seenAt.keys()) seenAt.set(runnerId, sighted + Math.max(0, RETURN_MS - lostMs))
    },
    /**
     * How long a runner has been silent, in milliseconds. An unknown runner is silent from now on. So a restart of this
     * process gives every runner the full time to come back.
     */
    silentFor(runnerId: number): number {
      const since = seenAt.get(runnerId) ?? sighted
      seenAt.set(runnerId, since)
      return Math.max(0, sighted - since)
    },
    /** Forgets all other runners, whose silence does not matter. */
    keepOnly(runnerIds: readonly number[]): void {
      const kept = new Set(runnerIds)
      for (const runnerId of [...seenAt.keys()]) if (!kept.has(runnerId)) seenAt.delete(runnerId)
    },
  }
}
