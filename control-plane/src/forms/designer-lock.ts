import type { Clock } from '../clock.js'
import { ConflictError } from '../errors.js'
import type { LiveEvents } from '../live/live-events.js'
import { type Lock, deleteLock, findLock, putLock } from '../store/service/locks.js'
import type { Store } from '../store/store.js'

const NAME = 'designer'
/** A holder that is silent this long has let go, in milliseconds. */
export const LOCK_SILENCE_MS = 10 * 60_000

/** An account: known by its id, since a name may be given again. */
export interface LockHolder {
  readonly id: number
  /** `<type>/<username>`, to be shown. */
  readonly name: string
}

/** Who may change forms now: one at a time. A holder takes it again now and then to keep it. */
export interface DesignerLock {
  /** Null: free. */
  read(): Promise<Lock | null>
  /** @throws ConflictError while another holds it */
  take(holder: LockHolder): Promise<Lock>
  /** @returns false when it was free already @throws ConflictError while another holds it */
  release(holder: LockHolder): Promise<boolean>
}

export function createDesignerLock(deps: {
  readonly store: Store
  readonly live: LiveEvents
  readonly clock: Clock
}): DesignerLock {
  const { store, clock } = deps
  const silentSince = () => clock.now() - LOCK_SILENCE_MS

  return {
    read: () => findLock(store.read, NAME, silentSince()),
    async take(holder) {
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
    async release(holder) {
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

function refuseOther(held: Lock | null, holder: LockHolder): void {
  if (!held || held.holderId === holder.id) return
  throw new ConflictError('lock_held', `${held.holder} holds the lock`, { holder: held.holder })
}
