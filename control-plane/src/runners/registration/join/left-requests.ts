import { type Nodes, isElsewhere } from '../../../nodes/nodes.js'
import { deleteLeftRequests, listWaitingRunners } from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'
import type { Registry } from '../registry.js'

/**
 * Removes requests whose runners have left and that no admin marked. A runner that comes back makes a new request, so
 * the wall clock may decide about its age.
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
  if (left.length === 0) return []
  const ids = left.map((one) => one.id)
  return store.write('runners.sweep', (queries) => deleteLeftRequests(queries, ids, now - graceMs))
}
