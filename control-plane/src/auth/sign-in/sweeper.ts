import type { Ages } from '../../ages/age-limits.js'
import type { Clock } from '../../time/clock.js'
import { deleteExpiredSessions } from '../../store/accounts/sessions.js'
import { deleteExpiredSignInCodes } from '../../store/accounts/sign-in-codes.js'
import { deleteOldNetworks } from '../../store/accounts/known-networks.js'
import { deleteOldFailures } from '../../store/accounts/sign-in-failures.js'
import type { Store } from '../../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../../time/sweeps.js'
import { ACCOUNT_LIMIT, NETWORK_KNOWN_MS } from './sign-in.js'

const SWEEP_EVERY_MS = 10 * 60_000
/** How long a session or an API token stays after it has expired, in milliseconds. If the clock was wrong, it is good again. */
const EXPIRED_KEPT_MS = 7 * 24 * 3_600_000

/**
 * Makes the part that removes old sessions, codes and counts of failed sign-ins. They have no effect any more before
 * they are removed.
 */
export function createSignInSweeper(
  deps: SweepDependencies & { readonly store: Store; readonly clock: Clock; readonly ages: Ages },
): Sweeper {
  async function sweep(): Promise<void> {
    const { clock, ages } = deps
    const [sessions, networks] = [await ages.of(EXPIRED_KEPT_MS), await ages.of(NETWORK_KNOWN_MS)]
    const now = clock.now()
    await deps.store.write('sessions.sweep', async (queries) => {
      if (sessions !== null) await deleteExpiredSessions(queries, sessions)
      await deleteExpiredSignInCodes(queries, now)
      await deleteOldFailures(queries, ACCOUNT_LIMIT.windowMs, now)
      if (networks !== null) await deleteOldNetworks(queries, networks)
    })
  }

  return startSweeper(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'expired sessions could not be removed',
    sweep,
  })
}
