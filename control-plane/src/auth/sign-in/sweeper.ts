import type { Clock } from '../../time/clock.js'
import { deleteExpiredSessions } from '../../store/accounts/sessions.js'
import { deleteExpiredSignInCodes } from '../../store/accounts/sign-in-codes.js'
import { deleteOldNetworks } from '../../store/accounts/known-networks.js'
import { deleteOldFailures } from '../../store/accounts/sign-in-failures.js'
import type { Store } from '../../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../../time/sweeps.js'
import { ACCOUNT_LIMIT, NETWORK_KNOWN_MS } from './sign-in.js'

const SWEEP_EVERY_MS = 10 * 60_000

/**
 * Makes the part that removes old sessions, codes and counts of failed sign-ins. They have no effect any more before
 * they are removed.
 */
export function createSignInSweeper(
  deps: SweepDependencies & { readonly store: Store; readonly clock: Clock },
): Sweeper {
  async function sweep(): Promise<void> {
    const now = deps.clock.now()
    await deps.store.write('sessions.sweep', async (queries) => {
      await deleteExpiredSessions(queries, now)
      await deleteExpiredSignInCodes(queries, now)
      await deleteOldFailures(queries, ACCOUNT_LIMIT.windowMs, now)
      await deleteOldNetworks(queries, now - NETWORK_KNOWN_MS)
    })
  }

  return startSweeper(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'expired sessions could not be removed',
    sweep,
  })
}
