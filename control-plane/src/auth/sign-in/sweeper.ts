import type { Clock } from '../../time/clock.js'
import { deleteExpiredSessions } from '../../store/accounts/sessions.js'
import { deleteExpiredSignInCodes } from '../../store/accounts/sign-in-codes.js'
import { deleteOldNetworks } from '../../store/accounts/known-networks.js'
import { deleteOldFailures } from '../../store/accounts/sign-in-failures.js'
import type { Store } from '../../store/store.js'
import { startSweeps } from '../../time/sweeps.js'
import type { Timers } from '../../time/timers.js'
import { ACCOUNT_LIMIT, NETWORK_KNOWN_MS } from './sign-in.js'

const SWEEP_EVERY_MS = 10 * 60_000

/** Removes sessions, codes and counts of failed sign-ins that are over, now and then. They mean nothing while they lie there. */
export interface Sweeper {
  sweep(): Promise<void>
  /** Resolves when a sweep that is under way has ended. */
  close(): Promise<void>
}

/** Makes the part that removes expired sessions, codes and counts of failures. */
export function createSweeper(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}): Sweeper {
  async function sweep(): Promise<void> {
    const now = deps.clock.now()
    await deps.store.write('sessions.sweep', async (queries) => {
      await deleteExpiredSessions(queries, now)
      await deleteExpiredSignInCodes(queries, now)
      await deleteOldFailures(queries, ACCOUNT_LIMIT.windowMs, now)
      await deleteOldNetworks(queries, now - NETWORK_KNOWN_MS)
    })
  }

  const sweeps = startSweeps(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'expired sessions could not be removed',
    sweep,
  })
  return { sweep, close: () => sweeps.close() }
}
