import type { AgeLimit } from '@holdfast/host/age-limit'
import type { Queries } from '../store.js'

/** Most networks that are stored for one user: those of the latest sign-ins. */
const MAX_NETWORKS = 20

/** Whether a user has signed in from a network since this time. */
export async function isKnownNetwork(
  queries: Queries,
  user: { readonly id: number },
  network: string,
  since: number,
): Promise<boolean> {
  const row = await queries
    .selectFrom('known_network')
    .select('network')
    .where('user_id', '=', user.id)
    .where('network', '=', network)
    .where('last_at', '>', since)
    .executeTakeFirst()
  return row !== undefined
}

/** Stores the network of a sign-in. The networks that were used longest ago are removed. */
export async function noteNetwork(queries: Queries, userId: number, network: string, now: number): Promise<void> {
  await queries
    .insertInto('known_network')
    .values({ user_id: userId, network, last_at: now })
    .onConflict((conflict) => conflict.columns(['user_id', 'network']).doUpdateSet({ last_at: now }))
    .execute()
  const kept = await queries
    .selectFrom('known_network')
    .select('last_at')
    .where('user_id', '=', userId)
    .orderBy('last_at', 'desc')
    .limit(1)
    .offset(MAX_NETWORKS - 1)
    .executeTakeFirst()
  if (kept) {
    await queries
      .deleteFrom('known_network')
      .where('user_id', '=', userId)
      .where('last_at', '<', kept.last_at)
      .execute()
  }
}

/** Removes networks that were last used before this time. */
export async function deleteOldNetworks(queries: Queries, before: AgeLimit): Promise<void> {
  await queries.deleteFrom('known_network').where('last_at', '<=', before).execute()
}
