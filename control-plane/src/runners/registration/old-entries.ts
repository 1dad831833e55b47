import type { Ages } from '../../ages/age-limits.js'
import { deletePastRunsBefore } from '../../store/jobs/orphans.js'
import { deleteJoinTokensBefore } from '../../store/runners/join-tokens.js'
import type { Store } from '../../store/store.js'
import { type SweepDependencies, type Sweeper, startSweeper } from '../../time/sweeps.js'

const SWEEP_EVERY_MS = 60 * 60_000

/**
 * How long a join token stays in the list after its time, in milliseconds. So admins can see for a while who joined by
 * it.
 */
const TOKEN_MEMORY_MS = 30 * 24 * 60 * 60 * 1000

/** How long the run of a deleted job is remembered, in milliseconds: as long as a runner remembers its runs. */
const PAST_RUN_MEMORY_MS = 90 * 24 * 60 * 60 * 1000

/** Makes the part that removes what nobody needs to know of runners any more: old join tokens and old runs. */
export function createOldEntriesSweeper(
  deps: SweepDependencies & { readonly store: Store; readonly ages: Ages },
): Sweeper {
  const { store, ages } = deps

  async function sweep(): Promise<void> {
    const [tokens, runs] = [await ages.of(TOKEN_MEMORY_MS), await ages.of(PAST_RUN_MEMORY_MS)]
    if (tokens === null && runs === null) return
    await store.write('runners.forget_old', async (queries) => {
      if (tokens !== null) await deleteJoinTokensBefore(queries, tokens)
      if (runs !== null) await deletePastRunsBefore(queries, runs)
    })
  }

  return startSweeper(deps, {
    everyMs: SWEEP_EVERY_MS,
    failure: 'old join tokens and old runs could not be removed',
    sweep,
  })
}
