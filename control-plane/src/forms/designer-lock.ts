import type { Clock } from '../time/clock.js'
import { ConflictError } from '../errors.js'
import type { LiveEvents } from '../live/live-events.js'
import { type Lock, deleteLock, findLock, putLock, deleteSilentLock, hasSilentLock } from '../store/service/locks.js'
import type { Store } from '../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../time/sweeps.js'

const NAME = 'designer'
/** After this time without a request, in milliseconds, the holder loses the lock. */
export const LOCK_SILENCE_MS = 10 * 60_000

/** An account. It is known by its id, because a name may be given to somebody else. */
export interface LockHolder {
  readonly id: number
  /** `<type>/<username>`, to be shown. */
  readonly name: string
}

/** The lock that says who may change forms now. A holder takes it again now and then to keep it. */
export type DesignerLock = ReturnType<typeof createDesignerLock>

/** Makes the lock of the form designer. */
export function createDesignerLock(deps: { readonly store: Store; readonly live: LiveEvents; readonly clock: Clock }) {
  const { store, clock } = deps
  const silentSince = () => clock.now() - LOCK_SILENCE_MS

  return {
    /** Null: free. */
    read: (): Promise<Lock | null> => findLock(store.read, NAME, silentSince()),
    /** @throws ConflictError while another holds it */
    async take(holder: LockHolder): Promise<Lock> {
      const now = clock.now()
      const { held, lock } = await store.write('lock.take', async (queries) => {
        const held = await findLock(queries, NAME, silentSince())
        const lock = { holder: holder.name, holderId: holder.id, takenAt: held?.takenAt ?? now, touchedAt: now }
        if (!held || held.holderId === holder.id) await putLock(queries, NAME, lock)
        return { held, lock }
      })
      refuseOther(held, holder)
      if (!held) deps.live.changed('designer')
      return lock
    },
    /** @returns false when the lock was already free @throws ConflictError while another holds it */
    async release(holder: LockHolder): Promise<boolean> {
      const held = await store.write('lock.release', async (queries) => {
        const held = await findLock(queries, NAME, silentSince())
        if (held?.holderId === holder.id) await deleteLock(queries, NAME)
        return held
      })
      refuseOther(held, holder)
      if (held) deps.live.changed('designer')
      return held !== null
    },
  }
}

/** How often to check whether the lock has become free, in milliseconds. */
const LOOK_EVERY_MS = 5_000

/**
 * Makes the part that informs open pages when the lock becomes free because its holder was silent. If several nodes check
 * at the same time, only one of them removes the row. So the change is announced once.
 */
export function createLockExpiry(
  deps: SweepDependencies & {
    readonly store: Store
    readonly live: LiveEvents
    readonly clock: Clock
  },
): Sweeper {
  const { store, live, clock } = deps

  async function sweep(): Promise<void> {
    const silentSince = clock.now() - LOCK_SILENCE_MS
    if (!(await hasSilentLock(store.read, NAME, silentSince))) return
    const fellFree = await store.write('lock.expire', (queries) => deleteSilentLock(queries, NAME, silentSince))
    if (fellFree) live.changed('designer')
  }

  const failure = 'the lock of the designer could not be looked at'
  return startSweeper(deps, { everyMs: LOOK_EVERY_MS, failure, sweep })
}

function refuseOther(held: Lock | null, holder: LockHolder): void {
  if (!held || held.holderId === holder.id) return
  throw new ConflictError('lock_held', `${held.holder} holds the lock`, { holder: held.holder })
}
