import { type Nodes, isElsewhere } from '../../../nodes/nodes.js'
import { deletePastRunsBefore } from '../../../store/jobs/orphans.js'
import { deleteJoinTokensBefore } from '../../../store/runners/join-tokens.js'
import { deleteLeftRequests, listWaitingRunners } from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'
import type { Registry } from '../registry.js'

/**
 * How long a join token stays in the list after its time, in milliseconds. So admins can see for a while who joined by
 * it.
 */
const TOKEN_MEMORY_MS = 30 * 24 * 60 * 60 * 1000

/** How long the run of a deleted job is remembered, in milliseconds: as long as a runner remembers its runs. */
const PAST_RUN_MEMORY_MS = 90 * 24 * 60 * 60 * 1000

/**
 * Removes entries that nobody needs any more: requests whose runners have left and that no admin marked, old join
 * tokens and old runs.
 * @param graceMs how long a request stays after its runner has left, in milliseconds
 * @returns the ids of the requests that were removed
 */
export async function removeLeftRequests(
  { store, nodes, registry }: { readonly store: Store; readonly nodes: Nodes; readonly registry: Registry },
  now: number,
  graceMs: number,
): Promise<readonly number[]> {
  const left = (await listWaitingRunners(store.read)).filter(
    (one) => one.keptBy === null && registry.find(one) === null && !isElsewhere(nodes, one),
  )
  return store.write('runners.sweep', async (queries) => {
    await deleteJoinTokensBefore(queries, now - TOKEN_MEMORY_MS)
    await deletePastRunsBefore(queries, now - PAST_RUN_MEMORY_MS)
    if (left.length === 0) return []
    return deleteLeftRequests(
      queries,
      left.map((one) => one.id),
      now - graceMs,
    )
  })
}
