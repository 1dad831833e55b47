import type { Queries } from '../store.js'

/** Networks that are remembered of one user, those of the latest sign-ins. */
const MAX_NETWORKS = 20

/** Whether a user has signed in from a network since a time. */
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

/** Notes a sign-in. The networks that were used longest ago go. */
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

/** Removes what was last used before a time. */
export async function deleteOldNetworks(queries: Queries, before: number): Promise<void> {
  await queries.deleteFrom('known_network').where('last_at', '<=', before).execute()
}
